// The places of the items, as index values of one word or two.
#bind write places: u32

fn store_item(line: u32, rank: u32, item: Item) {
  let at = (line_starts(line).y + rank * params.out_step) * params.index_words;
  store_places(at, item_place(item));
  if (params.index_words == 2u) { store_places(at + 1u, 0u); }
}
