// The class f64: the bits of FLOAT64 values, low word first. They are converted and compared, not
// reckoned with: WGSL has no 64-bit floats.
fn f64_zero() -> vec2<u32> { return vec2<u32>(0u, 0u); }
fn f64_one() -> vec2<u32> { return vec2<u32>(0u, 0x3ff00000u); }
fn f64_is_nan(a: vec2<u32>) -> bool {
  let magnitude = a.y & 0x7fffffffu;
  return magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && a.x != 0u);
}
fn f64_is_true(a: vec2<u32>) -> bool { return (a.x | (a.y & 0x7fffffffu)) != 0u; }
fn f64_eq(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (all(a == b) && !f64_is_nan(a)) || !(f64_is_true(a) || f64_is_true(b));
}
// The float nearest to x * 2^(exponent - 1086), ties to even, where x has bit 63 set.
fn f64_nearest(x: vec2<u32>, exponent: u32) -> vec2<u32> {
  let whole = u64_shr(vec2<u32>(x.x, x.y & 0x7fffffffu), 11u);
  let up = select(0u, 1u, (x.x & 0x7ffu) + (whole.x & 1u) > 0x400u);
  return u64_add(whole, vec2<u32>(up, exponent << 20u));
}
fn f64_from_u64(a: vec2<u32>) -> vec2<u32> {
  if (!u64_is_true(a)) { return a; }
  let shift = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
  return f64_nearest(u64_shl(a, shift), 1086u - shift);
}
fn f64_from_i64(a: vec2<u32>) -> vec2<u32> {
  return f64_from_u64(i64_abs(a)) | vec2<u32>(0u, a.y & 0x80000000u);
}
fn f64_from_u32(a: u32) -> vec2<u32> { return f64_from_u64(vec2<u32>(a, 0u)); }
fn f64_from_i32(a: i32) -> vec2<u32> { return f64_from_i64(u64_from_i32(a)); }
fn f64_from_f32(a: f32) -> vec2<u32> {
  let bits = bitcast<u32>(a);
  let sign = bits & 0x80000000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f7fffffu) { // infinity, and NaN with its payload, made quiet
    let quiet = select(0u, 0x80000u, magnitude > 0x7f800000u);
    let payload = (magnitude & 0x7fffffu) >> 3u;
    return vec2<u32>(magnitude << 29u, sign | 0x7ff00000u | quiet | payload);
  }
  if (magnitude < 0x800000u) { // a count of multiples of 2^-149
    let count = f64_from_u32(magnitude);
    return vec2<u32>(count.x, sign | select(count.y - (149u << 20u), 0u, magnitude == 0u));
  }
  return vec2<u32>(magnitude << 29u, sign | ((magnitude >> 3u) + (896u << 20u)));
}
// The FLOAT32 number toward zero, its last bit set where something was lost: rounded once more to
// FLOAT16, it gives what rounding once would have.
fn f64_odd_f32(a: vec2<u32>) -> f32 {
  let magnitude = a.y & 0x7fffffffu;
  let exponent = i32(magnitude >> 20u) - 896;
  if (exponent < 1 || exponent > 254) { return f32_from_f64(a); } // zero or beyond in FLOAT16 too
  let lost = select(0u, 1u, (a.x & 0x1fffffffu) != 0u);
  let fraction = ((a.y & 0xfffffu) << 3u) | (a.x >> 29u) | lost;
  return bitcast<f32>((a.y & 0x80000000u) | (u32(exponent) << 23u) | fraction);
}
