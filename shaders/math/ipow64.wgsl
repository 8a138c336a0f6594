// Integer powers modulo 2^64, by squaring; signed and unsigned numbers have the same bits.
fn math_ipow64(base: vec2<u32>, exponent: vec2<u32>) -> vec2<u32> {
  var result = vec2<u32>(1u, 0u);
  var square = base;
  for (var left = exponent; (left.x | left.y) != 0u; left = u64_shr(left, 1u)) {
    if ((left.x & 1u) == 1u) { result = u64_mul(result, square); }
    square = u64_mul(square, square);
  }
  return result;
}
// The same with signed numbers: below zero only 1 and -1 have a whole result, the others give 0.
fn math_ipow64_signed(base: vec2<u32>, exponent: vec2<u32>) -> vec2<u32> {
  if (!i64_is_negative(exponent)) { return math_ipow64(base, exponent); }
  let one = vec2<u32>(1u, 0u);
  if (all(base == one)) { return one; }
  let odd = (exponent.x & 1u) == 1u;
  return select(vec2<u32>(0u), select(one, base, odd), all(base == vec2<u32>(0xffffffffu)));
}
