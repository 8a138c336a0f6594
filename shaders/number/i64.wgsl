// The class i64: INT64 values in two's complement, modulo 2^64, as two words of which the low one
// comes first.
fn i64_zero() -> vec2<u32> { return vec2<u32>(0u, 0u); }
fn i64_one() -> vec2<u32> { return vec2<u32>(1u, 0u); }
fn i64_is_negative(a: vec2<u32>) -> bool { return a.y > 0x7fffffffu; }
fn i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return u64_add(a, b); }
fn i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return u64_sub(a, b); }
fn i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return u64_mul(a, b); }
fn i64_neg(a: vec2<u32>) -> vec2<u32> { return u64_neg(a); }
fn i64_abs(a: vec2<u32>) -> vec2<u32> { return select(a, u64_neg(a), i64_is_negative(a)); }
fn i64_sign(a: vec2<u32>) -> vec2<u32> {
  return select(u64_sign(a), vec2<u32>(0xffffffffu), i64_is_negative(a));
}
// The magnitude of MIN is right as an unsigned number, and so MIN / -1 = MIN.
fn i64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (!u64_is_true(b)) { return a; }
  let quotient = u64_div(i64_abs(a), i64_abs(b));
  return select(quotient, u64_neg(quotient), i64_is_negative(a ^ b));
}
fn i64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = u64_rem(i64_abs(a), i64_abs(b));
  return select(rest, u64_neg(rest), i64_is_negative(a));
}
fn i64_mod(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = i64_rem(a, b);
  let other_sign = u64_is_true(rest) && i64_is_negative(rest ^ b);
  return select(rest, u64_add(rest, b), other_sign);
}
fn i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, i64_lt(b, a)); }
fn i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, i64_lt(a, b)); }
fn i64_eq(a: vec2<u32>, b: vec2<u32>) -> bool { return all(a == b); }
// In the order of signed numbers, which is that of unsigned ones with the sign bit turned.
fn i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  return u64_lt(a ^ vec2<u32>(0u, 0x80000000u), b ^ vec2<u32>(0u, 0x80000000u));
}
fn i64_le(a: vec2<u32>, b: vec2<u32>) -> bool { return !i64_lt(b, a); }
fn i64_is_true(a: vec2<u32>) -> bool { return (a.x | a.y) != 0u; }
fn i64_and(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a & b; }
fn i64_or(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a | b; }
fn i64_xor(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a ^ b; }
fn i64_not(a: vec2<u32>) -> vec2<u32> { return ~a; }
fn i64_shl(a: vec2<u32>, count: u32) -> vec2<u32> { return u64_shl(a, count); }
fn i64_shr(a: vec2<u32>, count: u32) -> vec2<u32> {
  let flip = select(vec2<u32>(0u), vec2<u32>(0xffffffffu), i64_is_negative(a));
  return u64_shr(a ^ flip, count) ^ flip;
}

fn i64_from_i32(a: i32) -> vec2<u32> { return u64_from_i32(a); }
fn i64_from_u32(a: u32) -> vec2<u32> { return vec2<u32>(a, 0u); }
fn i64_from_u64(a: vec2<u32>) -> vec2<u32> { return a; }
// Magnitude and sign to a signed number, saturating.
fn i64_signed(magnitude: vec2<u32>, negative: bool) -> vec2<u32> {
  if (magnitude.y > 0x7fffffffu) {
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  return select(magnitude, u64_neg(magnitude), negative);
}
fn i64_from_f32(a: f32) -> vec2<u32> {
  let bits = bitcast<u32>(a);
  return i64_signed(u64_from_f32(bitcast<f32>(bits & 0x7fffffffu)), bits > 0x7fffffffu);
}
fn i64_from_f64(a: vec2<u32>) -> vec2<u32> {
  return i64_signed(u64_from_f64(vec2<u32>(a.x, a.y & 0x7fffffffu)), i64_is_negative(a));
}
