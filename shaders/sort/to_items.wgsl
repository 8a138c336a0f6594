// Items for another pass: each word of them in a plane of its own.
#bind write sorted: u32

alias Target = u32;
fn target_begin(segment: u32) -> Target { return segment * params.kept; }

fn store_item(begin: Target, rank: u32, item: Item) {
  let at = begin + rank;
  store_sorted(at, item_part(item, 0u));
  if (ITEM_WORDS > 1u) { store_sorted(at + params.out_plane, item_part(item, 1u)); }
  if (ITEM_WORDS > 2u) { store_sorted(at + 2u * params.out_plane, item_part(item, 2u)); }
}
