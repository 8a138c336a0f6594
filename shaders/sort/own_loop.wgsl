// The items of an invocation, in loops whose ends no compiler knows: CPU adapters would take long to
// compile what they write out themselves.
var<private> own: array<Item, PER>;

fn take_items(lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { own[k] = wg_items[slot(lane * PER + k)]; }
}
fn count_items(shift: u32, lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { count_item(own[k], shift, lane); }
}
fn put_items(shift: u32, lane: u32) {
  for (var k = 0u; k < params.per_lane; k++) { put_item(own[k], shift, lane); }
}
