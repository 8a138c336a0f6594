// The hyperbolic tangent.
fn math_tanh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u || magnitude > 0x7f800000u) { return x; } // below 2^-13, or NaN
  if (magnitude > 0x41200000u) { return f32_signed(1.0, x); } // 10
  if (magnitude < 0x3f200000u) { // 0.625
    let z = x * x;
    var p = 0.0021576358;
    p = p * z - 0.008195086;
    p = p * z + 0.02170875;
    p = p * z - 0.053948462;
    p = p * z + 0.13333222;
    p = p * z - 0.3333333;
    return p * z * x + x;
  }
  return f32_signed(1.0 - 2.0 / (math_exp(2.0 * f32_abs(x)) + 1.0), x);
}
