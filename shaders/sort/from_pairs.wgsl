// Items made of elements of 64 bits, with keys as those of smaller elements.
#bind read input: u32

fn key_of(bits: vec2<u32>) -> vec2<u32> {
  let value = select(bits, vec2<u32>(0u), bits.x == 0u && bits.y == params.negative_zero);
  let flip = vec2<u32>(params.flip_low, params.flip);
  let flip_negative = vec2<u32>(params.flip_negative_low, params.flip_negative);
  let key = value ^ select(flip, flip_negative, value.y >= params.sign);
  let high = value.y & (params.sign - 1u);
  let is_nan = high > params.infinity || (high == params.infinity && value.x != 0u);
  return select(key, vec2<u32>(params.unordered), is_nan);
}

fn load_item(line: u32, place: u32) -> Item {
  let at = line_starts(line).x + place * params.in_step;
  return keyed_item(key_of(vec2<u32>(load_input(2u * at), load_input(2u * at + 1u))), place);
}
