// The class u64: UINT64 values, modulo 2^64, and the bits of any 64-bit type, as two words of which
// the low one comes first; WGSL has no 64-bit integers without an extension.
fn u64_zero() -> vec2<u32> { return vec2<u32>(0u, 0u); }
fn u64_one() -> vec2<u32> { return vec2<u32>(1u, 0u); }
fn u64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn u64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
// The 64-bit product of two words, from 16-bit halves.
fn u64_product(a: u32, b: u32) -> vec2<u32> {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let carry = a0 * b1 + (middle & 0xffffu);
  return vec2<u32>(a * b, a1 * b1 + (middle >> 16u) + (carry >> 16u));
}
fn u64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = u64_product(a.x, b.x);
  return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}
// One 16-bit digit of a quotient by a divisor with its highest bit set, and the remainder: the
// dividend is high * 2^16 + next, with high < divisor. The first estimate is at most two too large.
fn u64_digit(high: u32, next: u32, divisor: u32) -> vec2<u32> {
  let top = divisor >> 16u;
  let bottom = divisor & 0xffffu;
  var digit = high / top;
  var rest = high - digit * top;
  for (var k = 0u; k < 2u; k++) {
    if (rest < 0x10000u && (digit > 0xffffu || digit * bottom > ((rest << 16u) | next))) {
      digit -= 1u;
      rest += top;
    }
  }
  return vec2<u32>(digit, ((high << 16u) | next) - digit * divisor);
}
// Quotient and remainder of a 64-bit number by a word above the number's high word.
fn u64_quotient_word(a: vec2<u32>, b: u32) -> vec2<u32> {
  let shift = countLeadingZeros(b);
  let n = u64_shl(a, shift);
  let d = b << shift;
  let first = u64_digit(n.y, n.x >> 16u, d);
  let second = u64_digit(first.y, n.x & 0xffffu, d);
  return vec2<u32>((first.x << 16u) | second.x, second.y >> shift);
}
fn u64_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y == 0u) {
    if (b.x == 0u) { return a; }
    let high = a.y / b.x;
    return vec2<u32>(u64_quotient_word(vec2<u32>(a.x, a.y - high * b.x), b.x).x, high);
  }
  // The quotient is one word. Dividing by b's highest 32 bits gives it or one more.
  let shift = countLeadingZeros(b.y);
  let guess = u64_quotient_word(u64_shr(a, 1u), u64_shl(b, shift).y).x;
  let least = max(guess >> (31u - shift), 1u) - 1u;
  let rest = u64_sub(a, u64_mul(b, vec2<u32>(least, 0u)));
  return vec2<u32>(least + select(0u, 1u, u64_le(b, rest)), 0u);
}
fn u64_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = u64_sub(a, u64_mul(u64_div(a, b), b));
  return select(rest, vec2<u32>(0u), !u64_is_true(b));
}
fn u64_mod(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return u64_rem(a, b); }
fn u64_neg(a: vec2<u32>) -> vec2<u32> { return u64_sub(vec2<u32>(0u), a); }
fn u64_abs(a: vec2<u32>) -> vec2<u32> { return a; }
fn u64_sign(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(min(a.x | a.y, 1u), 0u); }
fn u64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, u64_lt(b, a)); }
fn u64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, u64_lt(a, b)); }
fn u64_eq(a: vec2<u32>, b: vec2<u32>) -> bool { return all(a == b); }
fn u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn u64_le(a: vec2<u32>, b: vec2<u32>) -> bool { return !u64_lt(b, a); }
fn u64_is_true(a: vec2<u32>) -> bool { return (a.x | a.y) != 0u; }
fn u64_and(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a & b; }
fn u64_or(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a | b; }
fn u64_xor(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a ^ b; }
fn u64_not(a: vec2<u32>) -> vec2<u32> { return ~a; }
// What crosses from word to word is shifted in two steps, since a shift by 32 is not allowed.
fn u64_shl(a: vec2<u32>, count: u32) -> vec2<u32> {
  let n = count & 31u;
  let low = a.x << n;
  let high = (a.y << n) | ((a.x >> 1u) >> (31u - n));
  return select(vec2<u32>(low, high), vec2<u32>(0u, low), (count & 32u) != 0u);
}
fn u64_shr(a: vec2<u32>, count: u32) -> vec2<u32> {
  let n = count & 31u;
  let high = a.y >> n;
  let low = (a.x >> n) | ((a.y << 1u) << (31u - n));
  return select(vec2<u32>(low, high), vec2<u32>(high, 0u), (count & 32u) != 0u);
}
fn u64_count_ones(a: vec2<u32>) -> u32 { return countOneBits(a.x) + countOneBits(a.y); }

fn u64_from_i32(a: i32) -> vec2<u32> { return bitcast<vec2<u32>>(vec2<i32>(a, a >> 31u)); }
fn u64_from_u32(a: u32) -> vec2<u32> { return vec2<u32>(a, 0u); }
fn u64_from_i64(a: vec2<u32>) -> vec2<u32> { return a; }
// significand * 2^(exponent - 63) without its fraction, for exponents from 0 to 63.
fn u64_whole(significand: vec2<u32>, exponent: u32) -> vec2<u32> {
  return u64_shr(significand, 63u - exponent);
}
fn u64_from_f32(a: f32) -> vec2<u32> {
  let bits = bitcast<u32>(a);
  if (bits > 0x7f800000u || bits < 0x3f800000u) { return vec2<u32>(0u); } // negative, NaN, below 1
  if (bits >= 0x5f800000u) { return vec2<u32>(0xffffffffu); } // 2^64
  return u64_whole(vec2<u32>(0u, 0x80000000u | (bits << 8u)), (bits >> 23u) - 127u);
}
fn u64_from_f64(a: vec2<u32>) -> vec2<u32> {
  let is_nan = a.y > 0x7ff00000u || (a.y == 0x7ff00000u && a.x != 0u);
  if (is_nan || a.y < 0x3ff00000u) { return vec2<u32>(0u); } // a negative number counts as NaN here
  if (a.y >= 0x43f00000u) { return vec2<u32>(0xffffffffu); } // 2^64
  let significand = vec2<u32>(a.x << 11u, 0x80000000u | (a.y << 11u) | (a.x >> 21u));
  return u64_whole(significand, (a.y >> 20u) - 1023u);
}
