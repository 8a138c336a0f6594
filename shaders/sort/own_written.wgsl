// The items of an invocation, in registers: drivers keep them there only where every one is written
// out, and only then are all loads under way at once.
var<private> own: array<Item, PER>;

fn load_tile(line: u32, first: u32, lane: u32) {
  let begin = line_begin(line);
  let last = params.length - 1u;
  #repeat 16: var x$ = item_at(begin, min(first + lane + $u * WG_SIZE, last));
  #repeat 16: if (first + lane + $u * WG_SIZE > last) { x$ = last_item(); }
  #repeat 16: wg_items[slot(lane + $u * WG_SIZE)] = x$;
}
fn take_items(lane: u32) {
  #repeat 16: own[$u] = wg_items[slot(lane * PER + $u)];
}
fn count_items(shift: u32, lane: u32) {
  #repeat 16: count_item(own[$u], shift, lane);
}
fn put_items(shift: u32, lane: u32) {
  #repeat 16: put_item(own[$u], shift, lane);
}
fn mark_digits(count: u32, lane: u32) {
  #repeat 16: if (lane + $u * WG_SIZE < count) { mark_digit(lane + $u * WG_SIZE); }
}
fn write_items(begin: u32, count: u32, lane: u32) {
  #repeat 16: if (lane + $u * WG_SIZE < count) { write_item(begin, lane + $u * WG_SIZE); }
}
