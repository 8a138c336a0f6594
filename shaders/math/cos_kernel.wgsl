// cos(r) for |r| up to pi/4.
fn math_cos_kernel(r: f32) -> f32 {
  let z = r * r;
  let p = (2.4432331e-5 * z - 0.001388731) * z + 0.041666646;
  return p * z * z + (1.0 - 0.5 * z);
}
