// The smallest integer that is not below x.
fn math_ceil(x: f32) -> f32 { return ceil(x); }
