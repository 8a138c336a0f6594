// The logarithm to base 10.
fn math_log10(x: f32) -> f32 {
  if (bitcast<u32>(x) - 1u > 0x7f7ffffeu) { return math_log_edge(x); }
  let reduced = math_log_reduce(x);
  let logarithm = reduced.y + math_log1p_kernel(reduced.y);
  // log10(2) in two parts, of which the first times the exponent is exact.
  let low = logarithm * 0.4342945 + reduced.x * 4.6050390e-6;
  return reduced.x * 0.301025390625 + low;
}
