// Rows of a source with other elements around them: one invocation makes 16 bytes of a packed output,
// which begin in one of its rows and may end in the next. Where STRAIGHT, neighbours in the source are
// shifted to where they belong; all else is looked up element by element. dmlgpu/plan/framed.py writes
// the parameters, the binding of the source and its words (`word_at`), how rows are counted and found
// (`place`, `after`, `row_at`), and `elements`.
#import invocation/in_workgroup
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);

struct Row {
  base: u32, // element of the source with coordinate 0
  start: u32, // coordinate of the row's first element, modulo 2^32
}

// The 16 bytes that begin with an element narrower than a word. Elements are counted modulo 2^32, so the
// number of a word wraps where that of an element does.
fn bytes_at(e: u32) -> vec4<u32> {
  let w = e / PER_WORD;
  let wraps = 0xffffffffu / PER_WORD;
  #repeat 5: let w$ = word_at((w + $u) & wraps);
  let low = vec4<u32>(w0, w1, w2, w3);
  let high = vec4<u32>(w1, w2, w3, w4);
  let shift = e % PER_WORD * BITS % 32u;
  return (low >> vec4<u32>(shift)) | ((high << vec4<u32>(1u)) << vec4<u32>(31u - shift));
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let unit = group_of(me) * WG_SIZE + me.lane;
  if (unit >= params.count) { return; }
  let number = unit * UNIT / params.row;
  let x = unit * UNIT - number * params.row;
  let left = params.row - x; // elements of the row, of which the unit may have more
  let at = place(number);
  let row = row_at(at);
  let c = row.start + x;
  var v = vec4<u32>();
  if (STRAIGHT) { v = bytes_at(row.base + c); } // under way before it is known whether it is wanted
  if (!STRAIGHT || left < UNIT || c >= length() || length() - c < UNIT) {
    v = elements(row, row_at(after(at)), x, left);
  }
  store_output(unit, v);
}
