// Items made of elements of up to 32 bits.
#bind read input: u32
#import rule

fn load_item(line: u32, place: u32) -> Item {
  let at = line_starts(line).x + place * params.in_step;
  let per_word = 32u / params.bits;
  let word = load_input(at / per_word) >> (at % per_word * params.bits);
  return keyed_item(key_word(word & (params.sign | (params.sign - 1u)), key_rule()), place);
}
