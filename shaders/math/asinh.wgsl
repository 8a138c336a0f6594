// The inverse hyperbolic sine: a polynomial up to 3/4, and from there on the logarithm of
// a + sqrt(a * a + 1) for a = |x|, which is 2 or more: WGSL's own is good there.
fn math_asinh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  let a = bitcast<f32>(magnitude);
  let z = a * a;
  var p = 0.004676486;
  p = p * z - 0.015331075;
  p = p * z + 0.028144814;
  p = p * z - 0.044259924;
  p = p * z + 0.07496893;
  p = p * z - 0.1666658;
  // Where the square may overflow, the root is a, and the logarithm of a lacks that of 2.
  let huge = magnitude > 0x4f800000u; // 2^32
  let w = z + 1.0;
  let sum = select(w * inverseSqrt(w) + a, a, huge);
  let logarithm = (log2(sum) + select(0.0, 1.0, huge)) * 0.6931472;
  let far = magnitude - 0x3f400000u <= 0x40400000u; // 3/4 to infinity; NaN stays what it is
  return select((p * z + 1.0) * x, f32_signed(logarithm, x), far);
}
