// Whether the sign is set, as of -0 and of some NaN too.
fn math_signbit(x: f32) -> bool { return f32_is_negative(x); }
