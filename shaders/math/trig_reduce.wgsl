// x as quadrant * pi/2 + r, with |r| up to about pi/4.
struct math_trig_reduce_result {
  r: f32,
  quadrant: u32, // modulo 4
}
// For |x| above 2^11, by Payne and Hanek: the product of the significand and those bits of 2/pi that
// decide the quadrant and the fraction. Bits further up add whole turns.
fn math_trig_reduce(x: f32) -> math_trig_reduce_result {
  let magnitude = f32_magnitude(x);
  if (magnitude > 0x7f7fffffu) { return math_trig_reduce_result(f32_nan(), 0u); }
  let parts = f32_split(magnitude);
  let place = u32(parts.exponent - 120); // of the first bit of 2/pi that matters, after 32 zeros
  let word = place >> 5u;
  let shift = place & 31u;
  var bits = array<u32, 3>();
  for (var k = 0u; k < 3u; k++) {
    let high = math_trig_reduce_word(word + k);
    let low = math_trig_reduce_word(word + k + 1u);
    bits[k] = (high << shift) | ((low >> 1u) >> (31u - shift));
  }
  let m = parts.significand;
  var product = u64_product(m, bits[1]);
  product = u64_add(product, vec2<u32>(u64_product(m, bits[2]).y, m * bits[0]));
  // The highest two bits count quadrants; the fraction is taken from the nearest one.
  let quadrant = (product.y + 0x20000000u) >> 30u;
  let fraction = vec2<u32>(product.x, product.y - (quadrant << 30u));
  let negative = f32_is_negative(x);
  let turned = select(quadrant, 0u - quadrant, negative);
  let r = math_trig_reduce_angle(i64_abs(fraction));
  return math_trig_reduce_result(select(r, -r, i64_is_negative(fraction) != negative), turned & 3u);
}
// fraction * 2^-62 * pi/2, rounded once.
fn math_trig_reduce_angle(fraction: vec2<u32>) -> f32 {
  let shift = select(countLeadingZeros(fraction.y), 32u, fraction.y == 0u);
  let product = u64_product(u64_shl(fraction, shift).y, 0xc90fdaa2u);
  return f32_scale(f32_from_u64(product), -61 - i32(shift));
}
// 32 zeros and then 2/pi, as far as it shows for the largest float.
fn math_trig_reduce_word(k: u32) -> u32 {
  switch (k) {
    case 1u: { return 0xa2f9836eu; }
    case 2u: { return 0x4e441529u; }
    case 3u: { return 0xfc2757d1u; }
    case 4u: { return 0xf534ddc0u; }
    case 5u: { return 0xdb629599u; }
    case 6u: { return 0x3c439041u; }
    default: { return 0u; }
  }
}
// x - n * pi for |n| up to 2^10, which may end in a half.
fn math_trig_reduce_pi(x: f32, n: f32) -> f32 {
  // Of the four parts of pi, the first three have 13 bits and exact products with n.
  let r = ((x - n * 3.14111328125) - n * 0.0004793405532836914) - n * 3.1781382858753204e-8;
  return r - n * 5.126688136514179e-12;
}
