// The nearest integer, ties to even.
fn math_round_even(x: f32) -> f32 { return round(x); }
