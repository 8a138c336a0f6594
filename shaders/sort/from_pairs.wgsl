// Items made of elements of 64 bits.
#bind read input: u32
#import rule

fn line_begin(line: u32) -> u32 { return line_starts(line).x; }

fn item_at(begin: u32, place: u32) -> Item {
  let at = begin + place * params.in_step;
  let bits = vec2<u32>(load_input(2u * at), load_input(2u * at + 1u));
  return keyed_item(key_pair(bits, rule_of_params()), place);
}
