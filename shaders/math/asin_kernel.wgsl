// (asin(s) / s - 1) / z for z = s * s up to 1/4.
fn math_asin_kernel(z: f32) -> f32 {
  var p = 0.037629712;
  p = p * z + 0.0143557;
  p = p * z + 0.03183035;
  p = p * z + 0.04451414;
  p = p * z + 0.075005196;
  return p * z + 0.1666666;
}
