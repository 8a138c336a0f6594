// The items of one segment, all of whose loads are under way at once.
fn load_segments(first: u32, lane: u32) {
  let segment = min(first, params.segments - 1u);
  let line = segment / params.chunks;
  let begin = line_begin(line);
  let start = ((segment - line * params.chunks) << params.room) + lane;
  let last = params.length - 1u;
  #repeat 8: var x$ = item_at(begin, min(start + $u * WG_SIZE, last));
  #repeat 8: if (start + $u * WG_SIZE > last) { x$ = last_item(); }
  #repeat 8: wg_items[slot(lane + $u * WG_SIZE)] = x$;
}
