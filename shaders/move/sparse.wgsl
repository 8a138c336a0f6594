// Copies elements into an output of any layout: one invocation moves one element and writes only
// its bits, atomically where elements share a word, so gaps keep what they held.
// Needs tuple_stride and resolve.
#import invocation/in_workgroup
#bind read input: u32
#bind atomic output: u32
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;
override BITS: u32 = 32;
override PER_WORD: u32 = max(32u / BITS, 1u);

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let id = group_of(me) * WG_SIZE + me.lane;
  if (id >= params.count) { return; }
  var rest = id;
  var source = params.source_base;
  var tuple_at = 0u;
  var address = 0u;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    let c = rest % size;
    rest /= size;
    source += c * params.source_strides[d / 4u][d % 4u];
    tuple_at += c * tuple_stride(d);
    address += c * params.out_strides[d / 4u][d % 4u];
  }
  let e = resolve(source, tuple_at);
  if (BITS == 64u) {
    store_output(2u * address, load_input(2u * e));
    store_output(2u * address + 1u, load_input(2u * e + 1u));
  } else if (BITS == 32u) {
    store_output(address, load_input(e));
  } else {
    let mask = (1u << (BITS % 32u)) - 1u;
    let value = (load_input(e / PER_WORD) >> (e % PER_WORD * BITS)) & mask;
    let shift = address % PER_WORD * BITS;
    merge_output(address / PER_WORD, mask << shift, value << shift);
  }
}
