// Which elements are not zero, by their place row by row.
#param count: u32
#param sizes: array<vec4<u32>, 2>
#param strides: array<vec4<u32>, 2>
#bind read input: u32
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;
override BITS: u32 = 32;
override MASK: u32 = 0xffffffffu; // bits that count: not the sign of a float
override PER_LANE: u32 = 4;
override PER_WORD: u32 = 32u / BITS;

fn is_found(position: u32) -> bool {
  if (position >= params.count) { return false; }
  var rest = position;
  var at = 0u;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    at += rest % size * params.strides[d / 4u][d % 4u];
    rest /= size;
  }
  return ((load_input(at / PER_WORD) >> (at % PER_WORD * BITS)) & MASK) != 0u;
}

// The elements of an invocation that are not zero, as bits.
fn found_from(first: u32) -> u32 {
  var found = 0u;
  for (var k = 0u; k < PER_LANE; k++) { found |= u32(is_found(first + k)) << k; }
  return found;
}
