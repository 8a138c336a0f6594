// The inverse hyperbolic sine.
//
// With v = a + sqrt(a * a + 1) for a = |x|, and 2^k from v / 1.65 to v / 0.82, it is ln(v), which is
// k * ln(2) + 2 * atanh(s) where s = (v - 2^k) / (v + 2^k). Where k is 0, v - 1 would cancel.
fn math_asinh(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude - 0x39000000u > 0x14800000u) { return math_asinh_edge(x); } // not 2^-13 to 2^28
  let a = bitcast<f32>(magnitude);
  let root = math_sqrt_near(a * a + 1.0);
  let v = a + root;
  let exponent = (bitcast<u32>(v) - 0x3f530000u) & 0xff800000u; // times 2^23
  let power = bitcast<f32>(exponent + 0x3f800000u);
  let flat = exponent == 0u;
  let s = f32_quotient(select((root - power) + a, a, flat), select(v + power, root + 1.0, flat));
  let k = f32(exponent) * 8.2629583e-8; // 2^-23 * ln(2)
  return f32_signed(k + 2.0 * (s + math_atanh_kernel(s)), x);
}
// Where it is x itself, and where v is 2 * a.
fn math_asinh_edge(x: f32) -> f32 {
  let magnitude = f32_magnitude(x);
  if (magnitude < 0x39000000u || magnitude > 0x7f800000u) { return x; }
  return f32_signed(math_log_scaled(f32_abs(x), 1), x);
}
