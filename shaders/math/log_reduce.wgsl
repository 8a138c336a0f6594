// A positive finite x as 2^k * (1 + f), exactly, with 1 + f from sqrt(1/2) to sqrt(2): k, then f.
fn math_log_reduce(x: f32) -> vec2<f32> {
  let parts = f32_split(f32_magnitude(x));
  let halved = parts.significand > 0xb504f3u; // sqrt(2)
  let bits = parts.significand + select(0x3f000000u, 0x3e800000u, halved);
  let k = parts.exponent - select(127, 126, halved);
  return vec2<f32>(f32(k), bitcast<f32>(bits) - 1.0);
}
