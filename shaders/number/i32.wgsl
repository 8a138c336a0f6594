// The class i32: INT8, INT16 and INT32 values, modulo 2^32.
fn i32_zero() -> i32 { return 0; }
fn i32_one() -> i32 { return 1; }
fn i32_add(a: i32, b: i32) -> i32 { return a + b; }
fn i32_sub(a: i32, b: i32) -> i32 { return a - b; }
fn i32_mul(a: i32, b: i32) -> i32 { return a * b; }
fn i32_neg(a: i32) -> i32 { return 0 - a; }
fn i32_abs(a: i32) -> i32 { return select(a, 0 - a, a < 0); }
fn i32_sign(a: i32) -> i32 { return sign(a); }
// A divisor that no driver stumbles over: x / 0 = x and MIN / -1 = MIN are both x / 1.
fn i32_divisor(a: i32, b: i32) -> i32 {
  return select(b, 1, b == 0 || (b == -1 && a == i32(-2147483648)));
}
fn i32_div(a: i32, b: i32) -> i32 { return a / i32_divisor(a, b); }
// Not with the operator, which Vulkan leaves undefined for negative operands.
fn i32_rem(a: i32, b: i32) -> i32 {
  let d = i32_divisor(a, b);
  return a - (a / d) * d;
}
fn i32_mod(a: i32, b: i32) -> i32 {
  let rest = i32_rem(a, b);
  return select(rest, rest + b, rest != 0 && (rest < 0) != (b < 0));
}
fn i32_min(a: i32, b: i32) -> i32 { return min(a, b); }
fn i32_max(a: i32, b: i32) -> i32 { return max(a, b); }
fn i32_eq(a: i32, b: i32) -> bool { return a == b; }
fn i32_lt(a: i32, b: i32) -> bool { return a < b; }
fn i32_le(a: i32, b: i32) -> bool { return a <= b; }
fn i32_is_true(a: i32) -> bool { return a != 0; }
fn i32_and(a: i32, b: i32) -> i32 { return a & b; }
fn i32_or(a: i32, b: i32) -> i32 { return a | b; }
fn i32_xor(a: i32, b: i32) -> i32 { return a ^ b; }
fn i32_not(a: i32) -> i32 { return ~a; }
fn i32_shl(a: i32, count: u32) -> i32 { return a << (count & 31u); }
fn i32_shr(a: i32, count: u32) -> i32 { return a >> (count & 31u); }

fn i32_from_u32(a: u32) -> i32 { return bitcast<i32>(a); }
fn i32_from_i64(a: vec2<u32>) -> i32 { return bitcast<i32>(a.x); }
fn i32_from_u64(a: vec2<u32>) -> i32 { return bitcast<i32>(a.x); }
fn i32_limit(negative: bool) -> i32 { return select(2147483647, i32(-2147483648), negative); }
fn i32_from_f32(a: f32) -> i32 {
  let bits = bitcast<u32>(a);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return 0; }
  if (magnitude >= 0x4f000000u) { return i32_limit(bits > 0x7fffffffu); } // 2^31
  return i32(a);
}
fn i32_from_f64(a: vec2<u32>) -> i32 {
  let negative = a.y > 0x7fffffffu;
  let magnitude = a.y & 0x7fffffffu;
  let exponent = magnitude >> 20u;
  if (magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && a.x != 0u)) { return 0; }
  if (exponent > 1053u) { return i32_limit(negative); } // 2^31
  if (exponent < 1023u) { return 0; }
  let top = 0x80000000u | (a.y << 11u) | (a.x >> 21u);
  let whole = bitcast<i32>(top >> (1054u - exponent));
  return select(whole, 0 - whole, negative);
}
