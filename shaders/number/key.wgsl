// Keys: unsigned numbers in the order of elements, made of their bits. All NaN are one key, above
// every number, and both zeros are one. What a data type and a direction need is a rule.
struct key_rule {
  sign: u32, // the highest bit of an element, or of its high word
  negative_zero: u32, // the element that is 0 too
  infinity: u32, // without its sign, above which an element is NaN
  flip: u32, // bits that are turned
  flip_low: u32, // of the low word, where there are two
  flip_negative: u32, // of negative elements
  flip_negative_low: u32,
  unordered: u32, // the key of NaN
}
fn key_word(bits: u32, rule: key_rule) -> u32 {
  let value = select(bits, 0u, bits == rule.negative_zero);
  let key = value ^ select(rule.flip, rule.flip_negative, value >= rule.sign);
  return select(key, rule.unordered, (value & (rule.sign - 1u)) > rule.infinity);
}
fn key_pair(bits: vec2<u32>, rule: key_rule) -> vec2<u32> {
  let value = select(bits, vec2<u32>(0u), bits.x == 0u && bits.y == rule.negative_zero);
  let flip = vec2<u32>(rule.flip_low, rule.flip);
  let flip_negative = vec2<u32>(rule.flip_negative_low, rule.flip_negative);
  let key = value ^ select(flip, flip_negative, value.y >= rule.sign);
  let high = value.y & (rule.sign - 1u);
  let is_nan = high > rule.infinity || (high == rule.infinity && value.x != 0u);
  return select(key, vec2<u32>(rule.unordered), is_nan);
}
// The element of a key that only one has.
fn key_bits(key: u32, rule: key_rule) -> u32 {
  let bits = key ^ rule.flip;
  return select(bits, key ^ rule.flip_negative, bits >= rule.sign);
}
