// The logarithm to base 2.
fn math_log2(x: f32) -> f32 {
  if (bitcast<u32>(x) - 1u > 0x7f7ffffeu) { return math_log_edge(x); }
  let reduced = math_log_reduce(x);
  let f = reduced.y;
  // 1 / ln(2) is 1 and a part, so that f itself is not rounded.
  let low = math_log1p_kernel(f) * 1.442695 + f * 0.44269504;
  return reduced.x + (f + low);
}
