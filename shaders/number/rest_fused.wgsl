// The same where a driver rounds products and differences together.
fn rest_of(a: f32, b: f32, c: f32) -> f32 { return fma(-b, c, a); }
