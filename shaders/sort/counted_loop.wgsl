// The digits of a tile one after the other.
fn count_tile(line: u32, first: u32) {
  let begin = line_begin(line);
  for (var k = 0u; k < PER; k++) {
    let place = first + k * WG_SIZE;
    if (place < params.length) { found(item_at(begin, place)); }
  }
}
