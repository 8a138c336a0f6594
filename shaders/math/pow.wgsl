// x to the power of y, with the special values of IEEE 754.
//
// y * log2(x) is needed to about 2^-24, though it may be as large as 150. So it is reckoned in two
// parts, of which the first have 12 bits and exact products.
fn math_pow(x: f32, y: f32) -> f32 {
  let a = f32_magnitude(x);
  let b = f32_magnitude(y);
  if (b == 0u || bitcast<u32>(x) == 0x3f800000u) { return 1.0; }
  if (max(a, b) > 0x7f800000u) { return f32_nan(); }
  if (a == 0u || a == 0x7f800000u || b == 0x7f800000u) { return math_pow_edge(x, y); }
  // One call for both signs: SwiftShader loses the whole dispatch where it can tell that x is never
  // negative, as of 8- and 16-bit unsigned bases, and a second call stands behind the branch.
  let power = math_pow_positive(f32_abs(x), y);
  if (!f32_is_negative(x)) { return power; }
  let parity = math_pow_parity(y);
  if (parity == 0u) { return f32_nan(); }
  return select(power, -power, parity == 1u);
}
// 1 for odd integers, 2 for even ones, 0 for other numbers; y is not zero.
fn math_pow_parity(y: f32) -> u32 {
  let exponent = f32_magnitude(y) >> 23u;
  if (exponent < 127u) { return 0u; }
  if (exponent > 150u) { return 2u; }
  let fraction_bits = 150u - exponent;
  let significand = (bitcast<u32>(y) & 0x7fffffu) | 0x800000u;
  if ((significand & ((1u << fraction_bits) - 1u)) != 0u) { return 0u; }
  return 2u - ((significand >> fraction_bits) & 1u);
}
// Where x is zero or infinite, or y is infinite.
fn math_pow_edge(x: f32, y: f32) -> f32 {
  let a = f32_magnitude(x);
  let grows = (a > 0x3f800000u) != f32_is_negative(y);
  let result = select(0u, 0x7f800000u, grows);
  if (f32_magnitude(y) == 0x7f800000u) {
    return f32_of_bits(select(result, 0x3f800000u, a == 0x3f800000u));
  }
  let negative = f32_is_negative(x) && math_pow_parity(y) == 1u;
  return f32_of_bits(result | select(0u, 0x80000000u, negative));
}
fn math_pow_positive(x: f32, y: f32) -> f32 {
  let logarithm = math_pow_log2(x);
  let estimate = y * logarithm.x;
  if (f32_magnitude(estimate) > 0x43800000u) { // 256
    return select(f32_infinity(), 0.0, f32_is_negative(estimate));
  }
  let high = f32_high(y);
  let product = high * logarithm.x;
  let rest = (y - high) * logarithm.x + y * logarithm.y;
  let n = round(product);
  return f32_scale(1.0 + math_expm1_kernel(((product - n) + rest) * 0.6931472), i32(n));
}
// log2(x) in two parts: the exponent, log2(b) for the nearest b of 0.8125, 1 and 1.25, and
// log2((1 + s) / (1 - s)) with s = (m - b) / (m + b), where |s| is up to 0.07.
fn math_pow_log2(x: f32) -> vec2<f32> {
  let reduced = math_log_reduce(x);
  var base = vec3<f32>(0.0, 0.0, 0.0); // b - 1, and log2(b) in two parts
  if (reduced.y < -0.1) { base = vec3<f32>(-0.1875, -0.299560546875, 2.6501609e-7); }
  if (reduced.y > 0.118) { base = vec3<f32>(0.25, 0.322021484375, -9.3389488e-5); }
  let f = reduced.y - base.x;
  let twice = 2.0 * base.x + 2.0;
  let f_high = f32_high(f);
  let s_high = f32_high(f / (twice + f));
  let rest = ((f - twice * s_high) - s_high * f_high) - s_high * (f - f_high);
  let s_low = rest / (twice + f);
  let s = s_high + s_low;
  let z = s * s;
  let series = ((0.41525602 * z + 0.5770693) * z + 0.9617967) * z * s;
  // 2 / ln(2) is 2.884765625, which has 12 bits, and a rest.
  let first = 2.884765625 * s_high;
  let second = 0.00062445676 * s_high + (2.88539 * s_low + series) + base.z;
  let whole = reduced.x + base.y;
  let high = f32_high(whole + (first + second));
  return vec2<f32>(high, ((whole - high) + first) + second);
}
