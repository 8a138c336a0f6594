// ln(1 + e) for e from 0 to 1.
fn math_log1p_unit(e: f32) -> f32 {
  let p = ((0.0034172826 * e + 0.23815754) * e + 1.0662185) * e + 1.0;
  let q = ((0.07528729 * e + 0.6879363) * e + 1.5662184) * e + 1.0;
  return e * f32_quotient(p, q);
}
