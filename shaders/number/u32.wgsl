// The class u32: UINT8, UINT16 and UINT32 values, modulo 2^32, and the bits of any 32-bit type.
fn u32_zero() -> u32 { return 0u; }
fn u32_one() -> u32 { return 1u; }
fn u32_add(a: u32, b: u32) -> u32 { return a + b; }
fn u32_sub(a: u32, b: u32) -> u32 { return a - b; }
fn u32_mul(a: u32, b: u32) -> u32 { return a * b; }
fn u32_neg(a: u32) -> u32 { return 0u - a; }
fn u32_abs(a: u32) -> u32 { return a; }
fn u32_sign(a: u32) -> u32 { return min(a, 1u); }
fn u32_div(a: u32, b: u32) -> u32 { return a / max(b, 1u); } // x / 0 = x
fn u32_rem(a: u32, b: u32) -> u32 { return a % max(b, 1u); } // x rem 0 = 0
fn u32_mod(a: u32, b: u32) -> u32 { return u32_rem(a, b); }
fn u32_min(a: u32, b: u32) -> u32 { return min(a, b); }
fn u32_max(a: u32, b: u32) -> u32 { return max(a, b); }
fn u32_eq(a: u32, b: u32) -> bool { return a == b; }
fn u32_lt(a: u32, b: u32) -> bool { return a < b; }
fn u32_le(a: u32, b: u32) -> bool { return a <= b; }
fn u32_is_true(a: u32) -> bool { return a != 0u; }
fn u32_and(a: u32, b: u32) -> u32 { return a & b; }
fn u32_or(a: u32, b: u32) -> u32 { return a | b; }
fn u32_xor(a: u32, b: u32) -> u32 { return a ^ b; }
fn u32_not(a: u32) -> u32 { return ~a; }
fn u32_shl(a: u32, count: u32) -> u32 { return a << (count & 31u); }
fn u32_shr(a: u32, count: u32) -> u32 { return a >> (count & 31u); }
fn u32_count_ones(a: u32) -> u32 { return countOneBits(a); }

fn u32_from_i32(a: i32) -> u32 { return bitcast<u32>(a); }
fn u32_from_i64(a: vec2<u32>) -> u32 { return a.x; }
fn u32_from_u64(a: vec2<u32>) -> u32 { return a.x; }
fn u32_from_f32(a: f32) -> u32 {
  let bits = bitcast<u32>(a);
  if (bits > 0x7f800000u) { return 0u; } // negative or NaN
  if (bits >= 0x4f800000u) { return 0xffffffffu; } // 2^32
  return u32(a);
}
fn u32_from_f64(a: vec2<u32>) -> u32 {
  let exponent = a.y >> 20u;
  let is_nan = a.y > 0x7ff00000u || (a.y == 0x7ff00000u && a.x != 0u);
  if (is_nan || exponent < 1023u) { return 0u; } // a negative number counts as NaN here
  if (exponent > 1054u) { return 0xffffffffu; } // 2^32
  return (0x80000000u | (a.y << 11u) | (a.x >> 21u)) >> (1054u - exponent);
}
