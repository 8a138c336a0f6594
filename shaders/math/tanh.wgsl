// The hyperbolic tangent: a polynomial up to 5/8, and from there on by e^(2 * x), of which a few bits
// are enough where the result is near 1.
fn math_tanh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  let a = bitcast<f32>(magnitude);
  let z = a * a;
  var p = -0.005704987;
  p = p * z + 0.020639088;
  p = p * z - 0.053739715;
  p = p * z + 0.13331442;
  p = p * z - 0.3333328;
  let e = exp2(min(a, 20.0) * 2.88539);
  let far = magnitude - 0x3f200000u <= 0x40600000u; // 5/8 to infinity; NaN stays what it is
  return select((p * z + 1.0) * x, f32_signed(1.0 - 2.0 / (e + 1.0), x), far);
}
