// Items that a pass before has written.
#bind read items: u32

fn load_item(line: u32, place: u32) -> Item {
  let at = line * params.length + place;
  var words = vec3<u32>(0u);
  for (var k = 0u; k < ITEM_WORDS; k++) { words[k] = load_items(at + k * params.in_plane); }
  return item_of(words);
}
