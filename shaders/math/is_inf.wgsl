// Whether x is infinite, of either sign, by its bits, since a driver may assume that there is none.
fn math_is_inf(x: f32) -> bool { return f32_magnitude(x) == 0x7f800000u; }
