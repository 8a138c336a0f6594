// Integers of FLOAT32 values, 16 bits at a time: a software driver converts lane by lane, and it adds
// all lanes at once. A whole number below 2^22 that is added to 1.5 * 2^23 is in the lowest bits.
fn split_bits(a: f32) -> u32 {
  let whole = trunc(a);
  let high = trunc(whole * 0.0000152587890625); // 2^-16
  // Neither part has more than 16 bits, so the mask changes nothing; but no driver adds across it.
  let low = bitcast<f32>(bitcast<u32>(whole - high * 65536.0) & 0xffffff80u);
  return (split_small(high) << 16u) + split_small(low);
}
fn split_small(a: f32) -> u32 { return bitcast<u32>(a + 12582912.0) - 0x4b400000u; }
fn split_i32(a: f32) -> i32 {
  let bits = bitcast<u32>(a);
  let magnitude = bits & 0x7fffffffu;
  let limit = select(0x7fffffffu, 0x80000000u, bits > 0x7fffffffu);
  let far = select(limit, 0u, magnitude > 0x7f800000u);
  return bitcast<i32>(select(split_bits(a), far, magnitude >= 0x4f000000u)); // 2^31
}
fn split_u32(a: f32) -> u32 {
  let bits = bitcast<u32>(a);
  let far = select(0xffffffffu, 0u, bits > 0x7f800000u); // negative or NaN
  return select(split_bits(a), far, bits >= 0x4f800000u); // 2^32
}
