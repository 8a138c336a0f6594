// The places of the items, as index values of one word or two, and the elements of 32 bits that lie
// there. A key tells the bits of its element, unless several elements have it.
#import rule
#bind write places: u32
#bind write values: u32
#bind read elements: u32

alias Target = vec3<u32>;
fn target_begin(line: u32) -> Target { return line_starts(line); }

fn store_item(begin: Target, rank: u32, item: Item) {
  let at = (begin.y + rank * params.out_step) * params.index_words;
  store_places(at, item_place(item));
  if (params.index_words == 2u) { store_places(at + 1u, 0u); }
  var value = key_bits(item_key(item), rule_of_params());
  if ((value == 0u && params.negative_zero != 0u) || item_key(item) == params.unordered) {
    value = load_elements(begin.x + item_place(item) * params.in_step);
  }
  store_values(begin.z + rank * params.value_step, value);
}
