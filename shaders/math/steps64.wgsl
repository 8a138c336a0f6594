// start + step * i of FLOAT64 numbers, given and made by their bits: the product is rounded, then the
// sum, each to the nearest, ties to even, as NumPy's are. The numbers are finite, neither zero nor
// denormal, and nothing goes beyond the range of normal numbers; i is not 0.
//
// The significand, its highest bit in bit 63.
fn math_steps64_significand(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x << 11u, 0x80000000u | (a.y << 11u) | (a.x >> 21u));
}
// step * i, rounded. The product of both, moved so far up as they go, has 95 or 96 bits.
fn math_steps64_product(step: vec2<u32>, i: u32) -> vec2<u32> {
  let shift = countLeadingZeros(i) & 31u;
  let significand = math_steps64_significand(step);
  let low = u64_product(significand.x, i << shift);
  let high = u64_product(significand.y, i << shift);
  let middle = high.x + low.y;
  let top = high.y + select(0u, 1u, middle < low.y);
  let up = countLeadingZeros(top) & 1u;
  let rest = select(0u, 1u, (low.x << up) != 0u); // only matters as "more than nothing"
  let made = vec2<u32>(
    (middle << up) | ((low.x >> 1u) >> (31u - up)) | rest,
    (top << up) | ((middle >> 1u) >> (31u - up)),
  );
  let exponent = ((step.y >> 20u) & 0x7ffu) + 32u - shift - up;
  return f64_nearest(made, exponent) | vec2<u32>(0u, step.y & 0x80000000u);
}
// start + step * i. Of the smaller addend, what is lost below bit 0 only matters as "more than
// nothing": 11 bits lie between it and what is rounded.
fn math_steps64(start: vec2<u32>, step: vec2<u32>, i: u32) -> vec2<u32> {
  let product = math_steps64_product(step, i);
  let unsigned = vec2<u32>(0xffffffffu, 0x7fffffffu);
  let swapped = u64_lt(start & unsigned, product & unsigned);
  let most = select(start, product, swapped);
  let least = select(product, start, swapped);
  let exponent = (most.y >> 20u) & 0x7ffu;
  let apart = min(exponent - ((least.y >> 20u) & 0x7ffu), 63u);
  let x = math_steps64_significand(most);
  let whole = math_steps64_significand(least);
  let moved = u64_shr(whole, apart);
  let lost = any(u64_shl(moved, apart) != whole);
  let y = vec2<u32>(moved.x | select(0u, 1u, lost), moved.y);
  let alike = ((most.y ^ least.y) & 0x80000000u) == 0u;
  let sum = select(u64_sub(x, y), u64_add(x, y), alike);
  let carry = alike && u64_lt(sum, x);
  let halved = vec2<u32>((sum.x >> 1u) | (sum.y << 31u) | (sum.x & 1u), 0x80000000u | (sum.y >> 1u));
  let kept = select(sum, halved, carry);
  let zeros = select(countLeadingZeros(kept.y), 32u + countLeadingZeros(kept.x), kept.y == 0u);
  let made = f64_nearest(u64_shl(kept, zeros), exponent + select(0u, 1u, carry) - zeros);
  return select(vec2<u32>(0u), made | vec2<u32>(0u, most.y & 0x80000000u), any(kept != vec2<u32>(0u)));
}
// The FLOAT32 number nearest to one that is 0 or among the normal ones.
fn math_steps64_f32(a: vec2<u32>) -> f32 {
  let magnitude = a.y & 0x7fffffffu;
  let bits = ((magnitude - 0x38000000u) << 3u) | (a.x >> 29u);
  let up = select(0u, 1u, (a.x & 0x1fffffffu) + (bits & 1u) > 0x10000000u);
  return bitcast<f32>((a.y & 0x80000000u) | select(0u, bits + up, magnitude != 0u));
}
// The integer of the class i64 that is not above a number.
fn math_steps64_floor(a: vec2<u32>) -> vec2<u32> {
  let toward_zero = i64_from_f64(a);
  let is_above = i64_is_negative(a) && !f64_eq(f64_from_i64(toward_zero), a);
  return select(toward_zero, u64_sub(toward_zero, vec2<u32>(1u, 0u)), is_above);
}
