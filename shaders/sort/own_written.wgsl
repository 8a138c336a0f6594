// The items of an invocation, in registers: drivers keep them there only where every one is written
// out.
var<private> own: array<Item, PER>;

fn take_items(lane: u32) {
  #repeat 16: own[$u] = wg_items[slot(lane * PER + $u)];
}
fn count_items(shift: u32, lane: u32) {
  #repeat 16: count_item(own[$u], shift, lane);
}
fn put_items(shift: u32, lane: u32) {
  #repeat 16: put_item(own[$u], shift, lane);
}
