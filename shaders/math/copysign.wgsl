// The magnitude of x with the sign of y.
fn math_copysign(x: f32, y: f32) -> f32 { return f32_signed(x, y); }
