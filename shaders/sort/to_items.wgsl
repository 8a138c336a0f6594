// Items for another pass: each word of them in a plane of its own.
#bind write sorted: u32

fn store_item(segment: u32, rank: u32, item: Item) {
  let at = segment * params.kept + rank;
  for (var k = 0u; k < ITEM_WORDS; k++) { store_sorted(at + k * params.out_plane, item_part(item, k)); }
}
