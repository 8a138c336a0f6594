// One pass of a radix sort, second half, where there are subgroups: the items of a tile are ordered
// by the digit in workgroup memory, then go where the items before them end.
#import work
#import item
#import source
#import target
#import rank
#bind read offsets: u32
override TILE: u32 = WG_SIZE * PER;
var<workgroup> wg_items: array<Item, TILE>;
var<workgroup> wg_starts: array<u32, DIGITS>; // of the items of a digit, less their places in the tile

fn digit_of(item: Item) -> u32 { return item_digit(item, params.shift) % DIGITS; }

fn work(number: u32, seat: Seat) {
  let lane = seat.lane;
  let lanes = seat.lanes;
  let all = votes(true);
  let segment = min(number, params.segments - 1u);
  let line = segment / params.chunks;
  let tile = segment - line * params.chunks;
  let begin = line_begin(line);
  let first = tile * TILE + first_item(seat);
  let last = params.length - 1u;
  #repeat 16: var x$ = item_at(begin, min(first + $u * lanes, last));
  let counted = line * DIGITS * params.chunks + tile;
  #repeat 8: var offset$ = 0u; if (EACH > $u) { offset$ = load_offsets(counted + ((lane + $u * WG_SIZE) % DIGITS) * params.chunks); }
  #repeat 16: if (first + $u * lanes > last) { x$ = last_item(); }
  clear_found(lane);
  workgroupBarrier();
  #repeat 16: let rank$ = rank_in_subgroup(digit_of(x$), all, seat);
  workgroupBarrier();
  sum_found(seat);
  #repeat 16: wg_items[place_of(digit_of(x$), rank$, seat)] = x$;
  #repeat 8: if (EACH > $u) { wg_starts[(lane + $u * WG_SIZE) % DIGITS] = offset$ - start_of((lane + $u * WG_SIZE) % DIGITS); }
  workgroupBarrier();
  let to = target_begin(line);
  let count = select(0u, min(TILE, params.length - tile * TILE), number < params.segments);
  #repeat 16: let y$ = wg_items[lane + $u * WG_SIZE]; let to$ = wg_starts[digit_of(y$)] + lane + $u * WG_SIZE;
  #repeat 16: if (lane + $u * WG_SIZE < count && to$ < params.kept) { store_item(to, to$, y$); }
}
