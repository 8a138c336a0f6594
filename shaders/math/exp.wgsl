// e^x.
fn math_exp(x: f32) -> f32 { return math_exp_scaled(x, 0); }
