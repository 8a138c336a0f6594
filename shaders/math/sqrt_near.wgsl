// The square root of a number from 2^-60 to 2^60: one step of Newton's method, from an estimate without
// its last bit: else a driver that fuses a sum with the product a * r would add the correction of the
// rounded product to the exact one.
fn math_sqrt_near(a: f32) -> f32 {
  let r = inverseSqrt(a);
  let s = bitcast<f32>(bitcast<u32>(a * r) & 0xfffffffeu);
  return s + (a - s * s) * (0.5 * r);
}
