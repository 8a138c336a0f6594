// ln(1 + e) for e from 0 to 1.
fn math_log1p_unit(e: f32) -> f32 {
  var p = -0.003243981;
  p = p * e + 0.019851262;
  p = p * e - 0.05695916;
  p = p * e + 0.10603617;
  p = p * e - 0.1530557;
  p = p * e + 0.19675931;
  p = p * e - 0.24954133;
  p = p * e + 0.33329964;
  p = p * e - 0.49999902;
  return p * e * e + e;
}
