// Items made of elements of up to 32 bits.
#bind read input: u32
#import rule

fn load_item(line: u32, place: u32) -> Item {
  let at = line_starts(line).x + place * params.in_step;
  let word = load_input(at >> params.word_shift);
  let bits = word >> ((at & ((1u << params.word_shift) - 1u)) * params.bits);
  return keyed_item(key_word(bits & (params.sign | (params.sign - 1u)), rule_of_params()), place);
}
