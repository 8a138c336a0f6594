// x without its fraction.
fn math_trunc(x: f32) -> f32 { return trunc(x); }
