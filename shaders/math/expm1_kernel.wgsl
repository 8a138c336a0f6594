// e^r - 1 for |r| up to ln(2) / 2.
fn math_expm1_kernel(r: f32) -> f32 {
  var p = 0.00019944267;
  p = p * r + 0.0013932671;
  p = p * r + 0.008333208;
  p = p * r + 0.04166649;
  p = p * r + 0.16666667;
  p = p * r + 0.5;
  return p * r * r + r;
}
