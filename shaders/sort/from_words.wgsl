// Items made of elements of up to 32 bits.
#bind read input: u32
#import rule

fn line_begin(line: u32) -> u32 { return line_starts(line).x; }

fn item_at(begin: u32, place: u32) -> Item {
  let at = begin + place * params.in_step;
  let word = load_input(at >> params.word_shift);
  let bits = word >> ((at & ((1u << params.word_shift) - 1u)) * params.bits);
  return keyed_item(key_word(bits & (params.sign | (params.sign - 1u)), rule_of_params()), place);
}

fn item_again(begin: u32, place: u32, key: u32) -> Item { return item_with(key, place); }
