// e^x - 1 without cancellation near 0.
fn math_expm1(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x33000000u || magnitude > 0x7f800000u) { return x; } // below 2^-25, or NaN
  if (magnitude > 0x42800000u) { // 64
    return select(math_exp(x), -1.0, f32_is_negative(x));
  }
  let reduced = math_exp_reduce(x);
  let power = bitcast<f32>((i32(reduced.x) + 127) << 23u);
  return power * math_expm1_kernel(reduced.y) + (power - 1.0);
}
