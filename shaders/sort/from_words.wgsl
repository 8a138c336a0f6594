// Items made of elements of up to 32 bits. Keys are unsigned numbers in the order of the elements:
// all NaN are one key, above every number, and both zeros are one.
#bind read input: u32

fn key_of(bits: u32) -> u32 {
  let value = select(bits, 0u, bits == params.negative_zero);
  let key = value ^ select(params.flip, params.flip_negative, value > params.sign);
  return select(key, params.unordered, (value & (params.sign - 1u)) > params.infinity);
}

fn load_item(line: u32, place: u32) -> Item {
  let at = line_starts(line).x + place * params.in_step;
  let per_word = 32u / params.bits;
  let word = load_input(at / per_word) >> (at % per_word * params.bits);
  return keyed_item(key_of(word & (params.sign | (params.sign - 1u))), place);
}
