// ln(x * 2^k), where the product may be out of range.
fn math_log_scaled(x: f32, k: i32) -> f32 {
  if (bitcast<u32>(x) - 1u > 0x7f7ffffeu) { return math_log_edge(x); }
  let reduced = math_log_reduce(x);
  let n = reduced.x + f32(k);
  // ln(2) in two parts, of which the first times n is exact.
  let low = math_log1p_kernel(reduced.y) + n * 1.4286068e-6;
  return n * 0.693145751953125 + (reduced.y + low);
}
