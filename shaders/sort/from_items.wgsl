// Items that a pass before has written.
#bind read items: u32

fn line_begin(line: u32) -> u32 { return line * params.length; }

fn item_at(begin: u32, place: u32) -> Item {
  let at = begin + place;
  var words = vec3<u32>(load_items(at), 0u, 0u);
  if (ITEM_WORDS > 1u) { words.y = load_items(at + params.in_plane); }
  if (ITEM_WORDS > 2u) { words.z = load_items(at + 2u * params.in_plane); }
  return item_of(words);
}

fn item_again(begin: u32, place: u32, key: u32) -> Item { return item_at(begin, place); }
