// The error function, right to FLOAT16's 11 bits.
fn math_erf_half(x: f32) -> f32 {
  if (f32_magnitude(x) > 0x4039999au) { // 2.9, or NaN
    return select(f32_signed(1.0, x), x, f32_is_nan(x));
  }
  let z = x * x;
  let p = ((0.0007476638 * z + 0.04316445) * z + 0.15395647) * z + 1.1283809;
  let q = ((0.009281768 * z + 0.09471488) * z + 0.46980974) * z + 1.0;
  return x * (p * (1.0 / q));
}
