// e^x * 2^k, rounded once, for k from -1 to 1: it overflows only if the result does.
fn math_exp_scaled(x: f32, k: i32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x7f800000u) { return x; }
  if (magnitude > 0x42d20000u) { // 105
    return select(f32_infinity(), 0.0, f32_is_negative(x));
  }
  let reduced = math_exp_reduce(x);
  return f32_scale(1.0 + math_expm1_kernel(reduced.y), i32(reduced.x) + k);
}
