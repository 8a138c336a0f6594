// x to the power of y, with the special values of IEEE 754.
//
// y * log2(x) is needed to about 2^-24, though it may be as large as 150. So it is reckoned in two
// parts, of which the first have 12 bits and exact products.
fn math_pow(x: f32, y: f32) -> f32 {
  let a = f32_magnitude(x);
  let logarithm = math_pow_logarithm(a);
  // A base that is not a normal number, or a power near the ends of the range or NaN.
  if ((a - 0x800000u > 0x7effffffu) | (f32_magnitude(y * logarithm.x) > 0x42fa0000u)) { // 125
    return math_pow_edge(x, y);
  }
  let power = math_pow_of_logarithm(logarithm, y);
  if (f32_is_negative(x)) { return math_pow_of_negative(power, y); }
  return power;
}
// log2 of a positive normal number, by its bits.
fn math_pow_logarithm(a: u32) -> vec2<f32> {
  let exponent = (a - 0x3f5744fdu) & 0xff800000u; // times 2^23
  return math_pow_log2(bitcast<f32>(a - exponent), f32(bitcast<i32>(exponent)));
}
// 2^(y * logarithm), where that is a normal number.
fn math_pow_of_logarithm(logarithm: vec2<f32>, y: f32) -> f32 {
  // Adding 1.5 * 2^23 rounds to an integer, which the lowest bits then hold; for the mask see
  // math_exp_bounded.
  let bits = bitcast<u32>(y * logarithm.x + 12582912.0);
  let whole = bitcast<f32>(bits & 0x4b7fffffu) - 12582912.0;
  return bitcast<f32>(bitcast<u32>(math_pow_fraction(logarithm, y, whole)) + (bits << 23u));
}
// n + log2(m) in two parts, for m from 2^(-1/4) to 2^(3/4), from 2^23 * n. With b the nearer of 1 and
// 1.4140625, and s = (m - b) / (m + b), which is up to 0.087, it is
// n + log2(b) + log2((1 + s) / (1 - s)).
fn math_pow_log2(m: f32, n: f32) -> vec2<f32> {
  let upper = m > 1.1892071; // 2^(1/4)
  let b = select(1.0, 1.4140625, upper);
  let f = m - b;
  let r = 1.0 / (m + b);
  let s_high = f32_high(f * r);
  let s_low = rest_of(f - (b + b) * s_high, s_high, f) * r;
  let s = s_high + s_low;
  let z = s * s;
  let series = ((0.41624048 * z + 0.57706463) * z + 0.9617967) * z;
  // 2 / ln(2) is 2.884765625, which has 12 bits, and a rest; log2(b) has a first part that leaves
  // the sum with n exact, and a rest.
  let first = 2.884765625 * s_high;
  let second = (series + 0.00062445676) * s + (2.884765625 * s_low - select(0.0, 1.5250262e-6, upper));
  let whole = n * 1.1920928955078125e-7 + select(0.0, 0.499847412109375, upper); // 2^-23
  let high = f32_high(whole + (first + second));
  return vec2<f32>(high, ((whole - high) + first) + second);
}
// 2^(y * logarithm - n), where the exponent is within 0.56 of zero.
fn math_pow_fraction(logarithm: vec2<f32>, y: f32, n: f32) -> f32 {
  let high = f32_high(y);
  let rest = (y - high) * logarithm.x + y * logarithm.y;
  let r = (high * logarithm.x - n) + rest;
  var p = 0.00015452245;
  p = p * r + 0.0013417262;
  p = p * r + 0.009617992;
  p = p * r + 0.055502765;
  p = p * r + 0.24022654;
  p = p * r + 0.69314724;
  return p * r + 1.0;
}
// The power of a negative number from that of its magnitude; y is finite and not zero.
fn math_pow_of_negative(power: f32, y: f32) -> f32 {
  let parity = math_pow_parity(y);
  if (parity == 0u) { return f32_nan(); }
  return select(power, -power, parity == 1u);
}
// 1 for odd integers, 2 for even ones and zero, 0 for other numbers.
fn math_pow_parity(y: f32) -> u32 {
  let magnitude = f32_magnitude(y);
  let exponent = magnitude >> 23u;
  if (exponent > 150u || magnitude == 0u) { return 2u; }
  if (exponent < 127u) { return 0u; }
  let fraction_bits = 150u - exponent;
  let significand = (bitcast<u32>(y) & 0x7fffffu) | 0x800000u;
  if ((significand & ((1u << fraction_bits) - 1u)) != 0u) { return 0u; }
  return 2u - ((significand >> fraction_bits) & 1u);
}
// All that math_pow leaves: zero, infinity, NaN, denormal bases and powers beyond the normal numbers.
fn math_pow_edge(x: f32, y: f32) -> f32 {
  let a = f32_magnitude(x);
  let b = f32_magnitude(y);
  if (b == 0u || bitcast<u32>(x) == 0x3f800000u) { return 1.0; }
  if (max(a, b) > 0x7f800000u) { return f32_nan(); }
  let grows = (a > 0x3f800000u) != f32_is_negative(y);
  let limit = f32_of_bits(select(0u, 0x7f800000u, grows));
  if (b == 0x7f800000u) { return select(limit, 1.0, a == 0x3f800000u); }
  let negative = f32_is_negative(x);
  let odd = negative && math_pow_parity(y) == 1u;
  if (a == 0u || a == 0x7f800000u) { return select(limit, f32_neg(limit), odd); }
  let parts = f32_split(a);
  let halved = parts.significand > 0xd744fcu; // 2^(3/4)
  let m = bitcast<f32>(parts.significand + select(0x3f000000u, 0x3e800000u, halved));
  let logarithm = math_pow_log2(m, f32((parts.exponent - select(127, 126, halved)) << 23u));
  let estimate = y * logarithm.x;
  var power = limit;
  if (f32_magnitude(estimate) < 0x43800000u) { // 256
    let n = round(estimate);
    power = f32_scale(math_pow_fraction(logarithm, y, n), i32(n));
  }
  if (negative) { return math_pow_of_negative(power, y); }
  return power;
}
