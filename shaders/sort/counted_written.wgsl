// The digits of a tile, all of whose loads are under way at once.
fn count_tile(line: u32, first: u32) {
  let begin = line_begin(line);
  let last = params.length - 1u;
  #repeat 16: let x$ = item_at(begin, min(first + $u * WG_SIZE, last));
  #repeat 16: if (first + $u * WG_SIZE <= last) { found(x$); }
}
