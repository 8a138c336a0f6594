// The items of several segments, one after the other.
fn load_segments(first: u32, lane: u32) {
  for (var k = lane; k < TILE; k += WG_SIZE) {
    let segment = first + (k >> params.room);
    var line = segment;
    var place = k & ((1u << params.room) - 1u);
    if (params.chunks > 1u) {
      line = segment / params.chunks;
      place += (segment - line * params.chunks) << params.room;
    }
    var item = last_item();
    if (segment < params.segments && place < params.length) {
      item = item_at(line_begin(line), place);
    }
    wg_items[slot(k)] = item;
  }
}
