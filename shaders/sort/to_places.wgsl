// The places of the items, as index values of one word or two.
#bind write places: u32

alias Target = u32;
fn target_begin(line: u32) -> Target { return line_starts(line).y; }

fn store_item(begin: Target, rank: u32, item: Item) {
  let at = (begin + rank * params.out_step) * params.index_words;
  store_places(at, item_place(item));
  if (params.index_words == 2u) { store_places(at + 1u, 0u); }
}
