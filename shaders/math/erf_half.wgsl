// The error function, right to FLOAT16's 11 bits.
fn math_erf_half(x: f32) -> f32 {
  let a = clamp(x, -2.9, 2.9); // beyond, it is 1 in FLOAT16
  let z = a * a;
  let p = ((0.0007476638 * z + 0.04316445) * z + 0.15395647) * z + 1.1283809;
  let q = ((0.009281768 * z + 0.09471488) * z + 0.46980974) * z + 1.0;
  return select(a * (p * (1.0 / q)), x, f32_is_nan(x));
}
