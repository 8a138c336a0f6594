// sin(r) for |r| up to 1.58, a little more than pi/2; -0 for -0.
fn math_sin_kernel(r: f32) -> f32 {
  let z = r * r;
  let p = ((2.6042817e-6 * z - 0.00019808959) * z + 0.008333058) * z - 0.1666666;
  return r * (p * z + 1.0);
}
