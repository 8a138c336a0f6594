// asin(x) - x for |x| up to 1/2.
fn math_asin_kernel(x: f32) -> f32 {
  let z = x * x;
  var p = 0.037629712;
  p = p * z + 0.0143557;
  p = p * z + 0.03183035;
  p = p * z + 0.04451414;
  p = p * z + 0.075005196;
  p = p * z + 0.1666666;
  return p * z * x;
}
