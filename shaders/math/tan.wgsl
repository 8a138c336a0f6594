// The tangent.
fn math_tan(x: f32) -> f32 {
  if (math_tan_strays(x)) { return math_tan_far(x); }
  return math_tan_near(x);
}
fn math_tan_strays(x: f32) -> bool { return f32_magnitude(x) > 0x45000000u; } // 2^11, or NaN
fn math_tan_near(x: f32) -> f32 {
  // x is n * pi/2 + r; for n see math_sin.
  let bits = bitcast<u32>(x * 0.63661975 + 12582912.0);
  let n = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  return math_tan_turned(math_trig_reduce_pi(x, 0.5 * n), bits);
}
// Where the angle takes more bits of pi; NaN for infinity.
fn math_tan_far(x: f32) -> f32 {
  let reduced = math_trig_reduce(x);
  return math_tan_turned(reduced.r, reduced.quadrant);
}
// tan(r + quadrant * pi/2) for |r| up to pi/4; the lowest bit of the quadrant decides.
fn math_tan_turned(r: f32, quadrant: u32) -> f32 {
  let z = r * r;
  var p = 0.0043808445;
  p = p * z + 8.3064304e-5;
  p = p * z + 0.010838184;
  p = p * z + 0.021282647;
  p = p * z + 0.054059457;
  p = p * z + 0.13332672;
  p = p * z + 0.3333335;
  let tangent = p * z * r + r;
  return select(tangent, -1.0 / tangent, (quadrant & 1u) == 1u);
}
