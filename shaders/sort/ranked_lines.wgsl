// Sorts lines that fit workgroup memory there, digit by digit, where there are subgroups.
#import work
#import item
#import source
#import target
#import rank
override TILE: u32 = WG_SIZE * PER;
var<workgroup> wg_items: array<Item, TILE>;

fn work(number: u32, seat: Seat) {
  let lane = seat.lane;
  let lanes = seat.lanes;
  let all = votes(true);
  let segment = min(number, params.segments - 1u);
  let line = segment / params.chunks;
  let begin = line_begin(line);
  let from_ = (segment - line * params.chunks) * TILE;
  let first = first_item(seat);
  let last = params.length - 1u;
  #repeat 16: var x$ = item_at(begin, min(from_ + first + $u * lanes, last));
  #repeat 16: if (from_ + first + $u * lanes > last) { x$ = last_item(); }
  for (var shift = 0u; shift < params.bits; shift += 8u) {
    clear_found(lane);
    if (shift > 0u) {
      #repeat 16: x$ = wg_items[first + $u * lanes];
    }
    workgroupBarrier();
    #repeat 16: let digit$ = item_digit(x$, shift) % DIGITS; let rank$ = rank_in_subgroup(digit$, all, seat);
    workgroupBarrier();
    sum_found(seat);
    #repeat 16: wg_items[place_of(digit$, rank$, seat)] = x$;
    workgroupBarrier();
  }
  let to = target_begin(segment);
  let count = select(0u, min(TILE, params.kept), number < params.segments);
  #repeat 16: if (lane + $u * WG_SIZE < count) { store_item(to, lane + $u * WG_SIZE, wg_items[lane + $u * WG_SIZE]); }
}
