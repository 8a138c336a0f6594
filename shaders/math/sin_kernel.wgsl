// sin(r) for |r| up to pi/4.
fn math_sin_kernel(r: f32) -> f32 {
  let z = r * r;
  if (f32_magnitude(r) < 0x39000000u) { return r; } // 2^-13; keeps -0
  let p = ((2.8371855e-6 * z - 0.00019853495) * z + 0.00833338) * z - 0.16666667;
  return p * z * r + r;
}
