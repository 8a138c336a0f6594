// Which elements are not zero, by their place row by row.
#param count: u32
#param sizes: array<vec4<u32>, 2>
#param strides: array<vec4<u32>, 2>
#bind read input: u32
#import found
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;
override BITS: u32 = 32;
override MASK: u32 = 0xffffffffu; // bits that count: not the sign of a float
override PER_LANE: u32 = 8;
override PER_WORD: u32 = 32u / BITS;

fn address(position: u32) -> u32 {
  var rest = position;
  var at = 0u;
  #repeat 7: if (RANK > $u + 1u) { let d = max(RANK, $u + 2u) - 1u - $u; let q = rest / params.sizes[d / 4u][d % 4u]; at += (rest - q * params.sizes[d / 4u][d % 4u]) * params.strides[d / 4u][d % 4u]; rest = q; }
  return at + rest * params.strides[0].x;
}

fn element(at: u32) -> u32 { return (load_input(at / PER_WORD) >> (at % PER_WORD * BITS)) & MASK; }
