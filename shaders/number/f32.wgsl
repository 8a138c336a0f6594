// The class f32: FLOAT32 values, which also hold FLOAT16 values; WGSL's own + - * and what its
// other operators leave open.
//
// A driver may assume that no NaN and no infinity occurs and fold the tests for them away, so such
// tests look at the bits: infinity is 0x7f800000, and without its sign every NaN is above it.
fn f32_zero() -> f32 { return 0.0; }
fn f32_one() -> f32 { return 1.0; }
// A function, because a constant expression may not be infinite or NaN.
fn f32_of_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }
fn f32_magnitude(a: f32) -> u32 { return bitcast<u32>(a) & 0x7fffffffu; }
fn f32_is_negative(a: f32) -> bool { return bitcast<u32>(a) > 0x7fffffffu; }
fn f32_add(a: f32, b: f32) -> f32 { return a + b; }
fn f32_sub(a: f32, b: f32) -> f32 { return a - b; }
fn f32_mul(a: f32, b: f32) -> f32 { return a * b; }
fn f32_neg(a: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a) ^ 0x80000000u); }
fn f32_abs(a: f32) -> f32 { return bitcast<f32>(f32_magnitude(a)); }
fn f32_sign(a: f32) -> f32 {
  let magnitude = f32_magnitude(a);
  if (magnitude == 0u || magnitude > 0x7f800000u) { return 0.0; }
  return select(1.0, -1.0, f32_is_negative(a));
}
fn f32_min(a: f32, b: f32) -> f32 { return min(a, b); }
fn f32_max(a: f32, b: f32) -> f32 { return max(a, b); }
// Numbers in the order of their floats; both zeros are 0.
fn f32_rank(a: f32) -> i32 {
  let magnitude = bitcast<i32>(f32_magnitude(a));
  return select(magnitude, -magnitude, f32_is_negative(a));
}
fn f32_ordered(a: f32, b: f32) -> bool {
  return max(f32_magnitude(a), f32_magnitude(b)) <= 0x7f800000u;
}
fn f32_eq(a: f32, b: f32) -> bool { return f32_ordered(a, b) && f32_rank(a) == f32_rank(b); }
fn f32_lt(a: f32, b: f32) -> bool { return f32_ordered(a, b) && f32_rank(a) < f32_rank(b); }
fn f32_le(a: f32, b: f32) -> bool { return f32_ordered(a, b) && f32_rank(a) <= f32_rank(b); }
fn f32_is_true(a: f32) -> bool { return f32_magnitude(a) != 0u; }

fn f32_nan() -> f32 { return f32_of_bits(0x7fc00000u); }
fn f32_infinity() -> f32 { return f32_of_bits(0x7f800000u); }
fn f32_is_nan(a: f32) -> bool { return f32_magnitude(a) > 0x7f800000u; }
// The magnitude of a with the sign of b.
fn f32_signed(a: f32, b: f32) -> f32 {
  return bitcast<f32>(f32_magnitude(a) | (bitcast<u32>(b) & 0x80000000u));
}
// a with its sign changed where bit 31 of the word is set.
fn f32_flipped(a: f32, sign: u32) -> f32 { return bitcast<f32>(bitcast<u32>(a) ^ sign); }
// a * 2^n, with n clamped to -252 to 252. Two factors, since one power of two may be out of range
// where the product is not.
fn f32_scale(a: f32, n: i32) -> f32 {
  let whole = clamp(n, -252, 252);
  let part = whole >> 1u;
  return a * bitcast<f32>((part + 127) << 23u) * bitcast<f32>((whole - part + 127) << 23u);
}
// The magnitude of a finite number other than zero as significand * 2^(exponent - 150), where the
// significand's highest bit is bit 23; the exponent of a denormal number is below 1.
struct f32_parts {
  significand: u32,
  exponent: i32,
}
fn f32_split(magnitude: u32) -> f32_parts {
  let fraction = magnitude & 0x7fffffu;
  if (magnitude >= 0x800000u) {
    return f32_parts(fraction | 0x800000u, i32(magnitude >> 23u));
  }
  let shift = countLeadingZeros(fraction) - 8u;
  return f32_parts(fraction << shift, 1 - i32(shift));
}
// The bits of the float nearest to x * 2^(exponent - 158), ties to even, where x has bit 31 set.
fn f32_nearest(x: u32, exponent: i32) -> u32 {
  if (exponent > 254) { return 0x7f800000u; }
  // A denormal number has fewer bits; what is shifted out only matters as "more than nothing".
  let shift = u32(clamp(1 - exponent, 0, 25));
  let lost = select(0u, 1u, (x & ((1u << shift) - 1u)) != 0u);
  let kept = (x >> shift) | lost;
  let rest = kept & 0xffu;
  let whole = kept >> 8u;
  let up = select(0u, 1u, rest + (whole & 1u) > 0x80u);
  return (u32(max(exponent, 1) - 1) << 23u) + whole + up;
}
// The first 12 bits of a significand. The product of two such numbers is exact, whether or not the
// driver fuses it with an addition, and no driver simplifies what is taken off here.
fn f32_high(a: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a) & 0xfffff000u); }

// a / b where both are from 2^-50 to 2^50, rounded as good as exactly, so that 7 / 2 is 3.5. What
// the first 12 bits of the quotient leave of a is exact, so that its own share of the quotient needs
// no more than 12 bits. That is a normal number too, which every driver keeps.
fn f32_quotient(a: f32, b: f32) -> f32 {
  let r = 1.0 / b;
  let q = f32_high(a * r);
  return q + rest_of(a, q, b) * r;
}
// WGSL promises nothing for divisors above 2^126, denormal or zero.
fn f32_div(a: f32, b: f32) -> f32 {
  let x = f32_magnitude(a) - 0x26800000u; // 2^-50
  let y = f32_magnitude(b) - 0x26800000u;
  if (max(x, y) > 0x32000000u) { return f32_div_extreme(a, b); } // 2^50
  return f32_quotient(a, b);
}
fn f32_div_extreme(a: f32, b: f32) -> f32 {
  let x = f32_magnitude(a);
  let y = f32_magnitude(b);
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let none = max(x, y) > 0x7f800000u || (x == y && (x == 0u || x == 0x7f800000u));
  if (none) { return f32_nan(); }
  if (x == 0x7f800000u || y == 0u) { return f32_of_bits(sign | 0x7f800000u); }
  if (x == 0u || y == 0x7f800000u) { return f32_of_bits(sign); }
  let n = f32_split(x);
  let d = f32_split(y);
  let quotient = f32_quotient(f32(n.significand), f32(d.significand));
  return bitcast<f32>(bitcast<u32>(f32_scale(quotient, n.exponent - d.exponent)) | sign);
}
// |a| - n * |b|, exactly, for the integer n nearest to their quotient or, close to a tie, one of the
// two; and |b|.
struct f32_centred {
  rest: f32,
  divisor: f32,
  far: bool, // the quotient is above 2^22 or the divisor near the ends of the range: nothing holds
}
// The quotient is brought down in two steps of 12 bits. The product of such a part and half of b is
// exact, and so is each difference: a multiple of the last place of b, or of a if that is larger,
// with no more than 24 bits. For that the quotient may be taken for too small, but not for too large:
// so four units are taken from its reciprocal, which every driver has within three.
fn f32_centre(a: f32, b: f32) -> f32_centred {
  let x = f32_abs(a);
  let y = f32_abs(b);
  let r = bitcast<f32>(bitcast<u32>(1.0 / y) - 4u);
  let quotient = x * r;
  // Adding 1.5 * 2^34 rounds to a multiple of 2^11; the mask changes nothing, but no driver takes the
  // two constants together across it.
  let first = bitcast<f32>(bitcast<u32>(quotient + 25769803776.0) & 0x50ffffffu) - 25769803776.0;
  let left = rest_of(x, first, y);
  let second = round(left * r);
  let rest = rest_of(left, second, y);
  // From 2^-100 to 2^100 the parts of b are normal numbers.
  let far = (bitcast<u32>(y) - 0x0d800000u > 0x64000000u) | (bitcast<u32>(quotient) > 0x4a800000u);
  return f32_centred(rest, y, far);
}
// The remainder with the sign of a; exact.
fn f32_rem(a: f32, b: f32) -> f32 {
  let near = f32_centre(a, b);
  if (near.far) { return f32_rem_far(a, b); }
  return f32_signed(select(near.rest, near.rest + near.divisor, near.rest < 0.0), a);
}
// A long division that brings down eight bits at a time, at most 35 times.
fn f32_rem_far(a: f32, b: f32) -> f32 {
  let x = f32_magnitude(a);
  let y = f32_magnitude(b);
  if (x > 0x7f7fffffu || y > 0x7f800000u || y == 0u) { return f32_nan(); }
  if (x < y) { return a; }
  let sign = bitcast<u32>(a) & 0x80000000u;
  let n = f32_split(x);
  let d = f32_split(y);
  var rest = n.significand % d.significand;
  for (var left = n.exponent - d.exponent; left > 0; left -= 8) {
    rest = (rest << u32(min(left, 8))) % d.significand;
  }
  if (rest == 0u) { return bitcast<f32>(sign); }
  let shift = countLeadingZeros(rest);
  return bitcast<f32>(sign | f32_nearest(rest << shift, d.exponent + 8 - i32(shift)));
}
// The remainder with the sign of b; exact where the sum of the other remainder and b is.
fn f32_mod(a: f32, b: f32) -> f32 {
  let near = f32_centre(a, b);
  if (near.far) { return f32_mod_far(a, b); }
  let rest = f32_flipped(near.rest, (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u);
  return f32_signed(select(rest, rest + near.divisor, rest < 0.0), b);
}
fn f32_mod_far(a: f32, b: f32) -> f32 {
  let rest = f32_rem_far(a, b);
  if (f32_magnitude(rest) == 0u) { return bitcast<f32>(bitcast<u32>(b) & 0x80000000u); }
  return select(rest, rest + b, f32_is_negative(rest) != f32_is_negative(b));
}

// The halves convert exactly whatever the driver's rounding, so the sum is rounded once.
fn f32_from_i32(a: i32) -> f32 { return f32(a >> 16u) * 65536.0 + f32(a & 0xffff); }
fn f32_from_u32(a: u32) -> f32 { return f32(a >> 16u) * 65536.0 + f32(a & 0xffffu); }
fn f32_from_u64(a: vec2<u32>) -> f32 {
  if (a.y == 0u) { return f32_from_u32(a.x); }
  let shift = countLeadingZeros(a.y);
  let low = a.x << shift;
  let high = (a.y << shift) | ((a.x >> 1u) >> (31u - shift)) | select(0u, 1u, low != 0u);
  return bitcast<f32>(f32_nearest(high, 190 - i32(shift)));
}
fn f32_from_i64(a: vec2<u32>) -> f32 {
  if (a.y < 0x80000000u) { return f32_from_u64(a); }
  let negated = vec2<u32>(0u - a.x, ~a.y + select(0u, 1u, a.x == 0u));
  return -f32_from_u64(negated);
}
fn f32_from_f64(a: vec2<u32>) -> f32 {
  let sign = a.y & 0x80000000u;
  let magnitude = a.y & 0x7fffffffu;
  let fraction = (a.y << 11u) | (a.x >> 21u);
  if (magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && a.x != 0u)) {
    return bitcast<f32>(sign | 0x7fc00000u | ((fraction & 0x7fffffffu) >> 8u)); // quiet
  }
  let lost = select(0u, 1u, (a.x & 0x1fffffu) != 0u);
  let exponent = i32(magnitude >> 20u) - 896;
  return bitcast<f32>(sign | f32_nearest(fraction | lost | 0x80000000u, exponent));
}
