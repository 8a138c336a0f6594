// Whether x is NaN, by its bits, since a driver may assume that there is none.
fn math_is_nan(x: f32) -> bool { return f32_is_nan(x); }
