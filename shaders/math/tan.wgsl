// The tangent.
fn math_tan(x: f32) -> f32 {
  if (f32_magnitude(x) < 0x39000000u) { return x; } // 2^-13
  let reduced = math_trig_reduce(x);
  let r = reduced.r;
  let z = r * r;
  var p = 0.0043808445;
  p = p * z + 8.3064304e-5;
  p = p * z + 0.010838184;
  p = p * z + 0.021282647;
  p = p * z + 0.054059457;
  p = p * z + 0.13332672;
  p = p * z + 0.3333335;
  let tangent = p * z * r + r;
  if ((reduced.quadrant & 1u) == 0u) { return tangent; }
  return f32_quotient(-1.0, tangent);
}
