// The items of an invocation, in loops whose ends no compiler knows: CPU adapters would take long to
// compile what they write out themselves.
var<private> own: array<Item, PER>;

fn load_tile(line: u32, first: u32, lane: u32) {
  let begin = line_begin(line);
  for (var k = lane; k < TILE; k += WG_SIZE) {
    var item = last_item();
    if (first + k < params.length) { item = item_at(begin, first + k); }
    wg_items[slot(k)] = item;
  }
}
fn take_items(lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { own[k] = wg_items[slot(lane * PER + k)]; }
}
fn count_items(shift: u32, lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { count_item(own[k], shift, lane); }
}
fn put_items(shift: u32, lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { put_item(own[k], shift, lane); }
}
fn mark_digits(count: u32, lane: u32) {
  for (var k = lane; k < count; k += WG_SIZE) { mark_digit(k); }
}
fn write_items(begin: u32, count: u32, lane: u32) {
  for (var k = lane; k < count; k += WG_SIZE) { write_item(begin, k); }
}
