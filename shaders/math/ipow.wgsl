// Integer powers modulo 2^32, by squaring; signed and unsigned numbers have the same bits.
fn math_ipow(base: u32, exponent: u32) -> u32 {
  var result = 1u;
  var square = base;
  for (var left = exponent; left != 0u; left = left >> 1u) {
    if ((left & 1u) == 1u) { result *= square; }
    square *= square;
  }
  return result;
}
// The same with a signed exponent: below zero only 1 and -1 have a whole result, the others give 0.
fn math_ipow_signed(base: u32, exponent: i32, minus_one: u32) -> u32 {
  if (exponent >= 0i) { return math_ipow(base, u32(exponent)); }
  if (base == 1u) { return 1u; }
  return select(0u, select(base, 1u, (exponent & 1i) == 0i), base == minus_one);
}
