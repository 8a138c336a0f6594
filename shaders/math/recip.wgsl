// 1 / x.
fn math_recip(x: f32) -> f32 { return f32_div(1.0, x); }
