// The largest integer that is not above x.
fn math_floor(x: f32) -> f32 { return floor(x); }
