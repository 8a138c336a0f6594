// The float next to x in the direction of y.
fn math_nextafter(x: f32, y: f32) -> f32 {
  if (!f32_ordered(x, y)) { return f32_nan(); }
  if (f32_eq(x, y)) { return y; }
  if (f32_magnitude(x) == 0u) { return bitcast<f32>((bitcast<u32>(y) & 0x80000000u) | 1u); }
  let outward = f32_lt(x, y) != f32_is_negative(x);
  return bitcast<f32>(bitcast<u32>(x) + select(0xffffffffu, 1u, outward));
}
