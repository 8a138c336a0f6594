// sin(r) to FLOAT16's 11 bits, for |r| up to 1.58, a little more than pi/2; -0 for -0.
fn math_sin_half_kernel(r: f32) -> f32 {
  let z = r * r;
  let p = (-0.00018529243 * z + 0.008313886) * z - 0.16665828;
  return r * (p * z + 1.0);
}
