// atanh(s) - s for |s| up to 1/4.
fn math_atanh_kernel(s: f32) -> f32 {
  let z = s * s;
  let p = ((0.12615016 * z + 0.14204852) * z + 0.2000169) * z + 0.33333322;
  return p * (z * s);
}
