// e^x for |x| up to 87, where the result is a normal number.
fn math_exp_bounded(x: f32) -> f32 {
  // x is n * ln(2) + r. Adding 1.5 * 2^23 rounds to an integer, which the lowest bits then hold; the
  // mask changes nothing, but no driver takes the two constants together across it.
  let bits = bitcast<u32>(x * 1.442695 + 12582912.0);
  let n = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  // The first part of ln(2) has 15 bits, so its product with n is exact.
  let r = (x - n * 0.693145751953125) - n * 1.4286068e-6;
  var p = 0.0013814219;
  p = p * r + 0.008368899;
  p = p * r + 0.041668408;
  p = p * r + 0.1666652;
  p = p * r + 0.49999994;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return bitcast<f32>(bitcast<u32>(p) + (bits << 23u));
}
