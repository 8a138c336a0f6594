// Rows of a source with other elements around them: one invocation makes 16 bytes of a packed output,
// which begin in one of its rows and may end in the next. What the source has is shifted to where it
// belongs; what it has not is a constant or, where MAPPED, looked up element by element.
// dmlgpu/plan/framed.py writes the parameters, `row_at`, `length`, `MAPPED` and `beyond`.
#bind read input: u32
#bind write output: vec4<u32>
#import first_elements
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);

struct Row {
  base: u32, // element of the source with coordinate 0
  start: u32, // coordinate of the row's first element, modulo 2^32
  inside: bool, // the source has such a row
}

// Some elements of a unit that are neighbours in the source.
struct Run {
  source: u32, // where the unit's first element would lie
  low: u32,
  high: u32,
}

// Of the elements `low` to `high` of a unit that begins with coordinate `c` those that the source has.
fn run(row: Row, c: u32, low: u32, high: u32) -> Run {
  let first = select(min(0u - c, UNIT), 0u, c < length());
  let end = select(0u, min(length() - c, high), row.inside);
  return Run(row.base + c, max(first, low), end);
}

fn bits_of(r: Run) -> vec4<u32> { return first_elements(r.high) & ~first_elements(r.low); }

fn numbers_of(r: Run) -> u32 { return ((1u << r.high) - 1u) & ~((1u << r.low) - 1u); }

// The 16 bytes that begin with an element; beyond the tensor there may be anything. Elements are counted
// modulo 2^32, so the number of a word wraps where that of an element does.
fn bytes_at(e: u32) -> vec4<u32> {
  if (BITS >= 32u) {
    let w = e * (BITS / 32u);
    return vec4<u32>(load_input(w), load_input(w + 1u), load_input(w + 2u), load_input(w + 3u));
  }
  let w = e / PER_WORD;
  let wraps = 0xffffffffu / PER_WORD;
  #repeat 5: let w$ = load_input((w + $u) & wraps);
  let low = vec4<u32>(w0, w1, w2, w3);
  let high = vec4<u32>(w1, w2, w3, w4);
  let shift = e % PER_WORD * BITS;
  return (low >> vec4<u32>(shift)) | ((high << vec4<u32>(1u)) << vec4<u32>(31u - shift));
}

// `unit` with element `k` set.
fn with_element(unit: vec4<u32>, k: u32, e: u32) -> vec4<u32> {
  let other = first_elements(k + 1u) & ~first_elements(k);
  if (BITS == 64u) {
    let v = vec2<u32>(load_input(2u * e), load_input(2u * e + 1u));
    return (unit & ~other) | (v.xyxy & other);
  }
  let v = load_input(e / PER_WORD) >> (e % PER_WORD * BITS % 32u);
  return (unit & ~other) | (vec4<u32>(v << (k % PER_WORD * BITS % 32u)) & other);
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let unit = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (unit >= params.count) { return; }
  let number = unit * UNIT / params.row;
  let x = unit * UNIT - number * params.row;
  let left = params.row - x; // elements of the row, of which the unit may have more
  let row = row_at(number);
  let a = run(row, row.start + x, 0u, min(left, UNIT));
  var v = bytes_at(a.source);
  if (a.low > 0u || a.high < UNIT) {
    let filled = vec2<u32>(params.filled_low, params.filled_high).xyxy;
    let mine = bits_of(a);
    v = (v & mine) | (filled & ~mine);
    var next = row;
    var b = Run(0u, 0u, 0u);
    if (left < UNIT) {
      next = row_at(number + 1u);
      b = run(next, next.start - left, left, UNIT);
      let others = bits_of(b);
      v = (v & ~others) | (bytes_at(b.source) & others);
    }
    if (MAPPED) {
      var missing = ((1u << UNIT) - 1u) & ~(numbers_of(a) | numbers_of(b));
      for (; missing != 0u; missing &= missing - 1u) {
        let k = firstTrailingBit(missing);
        let e = select(next.base + beyond(next.start + k - left), row.base + beyond(row.start + x + k), k < left);
        v = with_element(v, k, e);
      }
    }
  }
  store_output(unit, v);
}
