// atan(q) for q from 0 to 1.
fn math_atan_kernel(q: f32) -> f32 {
  let z = q * q;
  var p = -0.0017904058;
  p = p * z + 0.0108996965;
  p = p * z - 0.031148937;
  p = p * z + 0.05792723;
  p = p * z - 0.08401582;
  p = p * z + 0.10951506;
  p = p * z - 0.14264102;
  p = p * z + 0.19998534;
  p = p * z - 0.333333;
  return p * z * q + q;
}
