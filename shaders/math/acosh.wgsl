// The inverse hyperbolic cosine; NaN below 1.
//
// With v = x + sqrt(x * x - 1), and 2^k from v / 1.65 to v / 0.82, it is ln(v), which is
// k * ln(2) + 2 * atanh(s) where s = (v - 2^k) / (v + 2^k). Where k is 0, v - 1 would cancel.
fn math_acosh(x: f32) -> f32 {
  if (math_acosh_strays(x)) { return math_acosh_far(x); }
  return math_acosh_near(x);
}
fn math_acosh_strays(x: f32) -> bool { // not above 1 to 2^28
  return bitcast<u32>(x) - 0x3f800001u > 0xdffffffu;
}
fn math_acosh_near(x: f32) -> f32 {
  let t = x - 1.0;
  let root = sqrt(t * t + 2.0 * t);
  let v = x + root;
  let exponent = (bitcast<u32>(v) - 0x3f530000u) & 0xff800000u; // times 2^23
  let power = bitcast<f32>(exponent + 0x3f800000u);
  let flat = exponent == 0u;
  let s = select((root - power) + x, root, flat) / select(v + power, x + 1.0, flat);
  let k = f32(exponent) * 8.2629583e-8; // 2^-23 * ln(2)
  return k + 2.0 * (s + math_atanh_kernel(s));
}
// From 1 down, and where v is 2 * x.
fn math_acosh_far(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (bits < 0x3f800000u || bits > 0x7f800000u) { return f32_nan(); }
  if (bits == 0x3f800000u) { return 0.0; }
  return math_log_scaled(x, 1);
}
