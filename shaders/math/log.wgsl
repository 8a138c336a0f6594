// The natural logarithm.
fn math_log(x: f32) -> f32 { return math_log_scaled(x, 0); }
