// ln(1 + x) without cancellation near 0.
fn math_log1p(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x33000000u) { return x; } // 2^-25
  // Where 1 + x is near 1, the rounding of the sum would show in its logarithm.
  if (magnitude < select(0x3ed413cdu, 0x3e95f619u, f32_is_negative(x))) {
    return x + math_log1p_kernel(x);
  }
  return math_log(1.0 + x);
}
