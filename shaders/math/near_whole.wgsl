// A power that is a whole number, which rounding may have missed by a few units.
fn math_near_whole(x: f32) -> f32 {
  let whole = round(x);
  return select(x, whole, abs(x - whole) <= abs(x) * 4e-7);
}
