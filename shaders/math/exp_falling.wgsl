// e^x for x up to 0, right to FLOAT16's 11 bits as far as FLOAT16 reaches; without a branch.
fn math_exp_falling(x: f32) -> f32 {
  return select(exp2(max(x, -80.0) * 1.442695), x, f32_is_nan(x));
}
