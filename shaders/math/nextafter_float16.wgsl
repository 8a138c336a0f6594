// The FLOAT16 number next to x in the direction of y; both are such numbers.
fn math_nextafter_float16(x: f32, y: f32) -> f32 {
  if (!f32_ordered(x, y)) { return f32_nan(); }
  if (f32_eq(x, y)) { return y; }
  let sign = (bitcast<u32>(y) >> 16u) & 0x8000u;
  if (f32_magnitude(x) == 0u) { return float16_decode(vec2<u32>(sign | 1u, 0u)); }
  let outward = f32_lt(x, y) != f32_is_negative(x);
  let bits = float16_encode(x).x + select(0xffffffffu, 1u, outward);
  return float16_decode(vec2<u32>(bits & 0xffffu, 0u));
}
