// Which elements are not zero, first step: a bit for each, 32 to a word, and how many bits of each
// block of WG_SIZE words are set. Elements lie side by side.
#param count: u32 // elements
#param blocks: u32
#bind read input: vec4<u32>
#bind write flags: u32
#bind write counts: u32
#import sums
#import words
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override MASK: u32 = 0xffffffffu; // bits of a word that count: not the sign of a float
override PER_UNIT: u32 = 128u / BITS; // elements of 16 bytes
override UNITS: u32 = 32u / PER_UNIT; // units whose elements fill a word of flags

// A bit for each element of a unit.
fn found_in(v: vec4<u32>) -> u32 {
  let low = select(MASK, 0xffffffffu, BITS == 64u);
  let w = v & vec4<u32>(low, MASK, low, MASK);
  if (BITS == 64u) { return dot(vec2<u32>((w.xz | w.yw) != vec2<u32>()), vec2<u32>(1u, 2u)); }
  if (BITS == 32u) { return dot(vec4<u32>(w != vec4<u32>()), vec4<u32>(1u, 2u, 4u, 8u)); }
  if (BITS == 16u) {
    let first = vec4<u32>((w & vec4<u32>(0xffffu)) != vec4<u32>());
    let second = vec4<u32>((w >> vec4<u32>(16u)) != vec4<u32>());
    return dot(first + 2u * second, vec4<u32>(1u, 4u, 16u, 64u));
  }
  // The highest bit of each byte says whether it is zero; one product brings the four together.
  let byte = vec4<u32>(0x7f7f7f7fu);
  let ones = ((((w & byte) + byte) | w) >> vec4<u32>(7u)) & vec4<u32>(0x01010101u);
  return dot((ones * vec4<u32>(0x10204080u)) >> vec4<u32>(28u), vec4<u32>(1u, 16u, 256u, 4096u));
}

fn work(number: u32, lane: Lane) {
  let word = number * WG_SIZE + lane.index;
  var found = word_of(number, lane.index);
  let rest = select(0u, params.count - min(params.count, 32u * word), number < params.blocks);
  found &= select((1u << (rest % 32u)) - 1u, 0xffffffffu, rest > 31u);
  if (rest != 0u) { store_flags(word, found); }
  let sums = sums_of(lane, countOneBits(found));
  // One count more, which is 0: what comes before it is the number of all.
  if (lane.index == 0u && number < params.blocks) { store_counts(number, sums.all); }
  if (lane.index == 0u && number == 0u) { store_counts(params.blocks, 0u); }
}
