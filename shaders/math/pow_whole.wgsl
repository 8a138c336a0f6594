// x to the power of the whole number e, or of -e. FLOAT32 may lack the last bits of e, which say
// whether it is odd; where it does, only x near 1 or -1 have powers that are neither 0 nor infinite.
fn math_pow_whole(x: f32, e: u32, is_below: bool) -> f32 {
  let a = f32_abs(x);
  let low = select(0u, e & 0xffu, e > 0xffffffu);
  let high = f32(e - low);
  let power = math_pow(a, select(high, -high, is_below));
  // a to the power of what is left: t is up to 0.002.
  let near = select(0.0, f32(low) * (a - 1.0), f32_abs(a - 1.0) < 0.5);
  let t = select(near, -near, is_below);
  return f32_flipped(power * (1.0 + (t + 0.5 * t * t)), (e << 31u) & bitcast<u32>(x));
}
