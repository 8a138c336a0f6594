// Where the items of a workgroup go when they are ordered by one digit. A subgroup holds PER rows of
// items, one row behind the other; invocations with the same digit find each other by voting on its
// bits. Equal digits keep the order of the items.
#import seat
#import votes
const DIGITS = 256u;
const PER = 16u; // items of an invocation
override SUBGROUPS: u32 = 8; // of a workgroup, if they are as small as they can be: at most 16
override ROWS: u32 = (SUBGROUPS + 1u) / 2u;
override FOUND: u32 = ROWS * DIGITS;
override EACH: u32 = DIGITS / WG_SIZE;
var<workgroup> wg_found: array<atomic<u32>, FOUND>; // how often each digit, of two subgroups in a word
var<workgroup> wg_sums: array<u32, SUBGROUPS>;

// The first item of an invocation; the others follow a row further each.
fn first_item(seat: Seat) -> u32 { return seat.subgroup * seat.lanes * PER + seat.spot; }

fn clear_found(lane: u32) {
  for (var d = lane; d < DIGITS; d += WG_SIZE) {
    #repeat 8: if (ROWS > $u) { atomicStore(&wg_found[$u * DIGITS + d], 0u); }
  }
}

fn counter_of(digit: u32, seat: Seat) -> u32 { return seat.subgroup / 2u * DIGITS + digit; }
fn counted(word: u32, seat: Seat) -> u32 { return (word >> (seat.subgroup % 2u * 16u)) & 0xffffu; }

// The number of items with this digit that the subgroup has had before, counted on by the last of
// the invocations that have it now.
fn rank_in_subgroup(digit: u32, all: Votes, seat: Seat) -> u32 {
  var same = all;
  #repeat 8: let said$ = (digit & (1u << $u)) != 0u; same &= votes(said$) ^ Votes(select(0xffffffffu, 0u, said$));
  let last = last_vote(same);
  let before = votes_before(same, seat.spot);
  var start = 0u;
  if (seat.spot == last) {
    start = atomicAdd(&wg_found[counter_of(digit, seat)], (before + 1u) << (seat.subgroup % 2u * 16u));
  }
  return counted(subgroupShuffle(start, last), seat) + before;
}

// What was counted becomes the place of the first item in the workgroup: by digit, and of one digit
// by subgroup.
fn sum_found(seat: Seat) {
  var own = 0u;
  for (var d = seat.lane * EACH; d < (seat.lane + 1u) * EACH; d++) {
    #repeat 8: if (ROWS > $u) { own += atomicLoad(&wg_found[$u * DIGITS + d]); }
  }
  own = (own & 0xffffu) + (own >> 16u);
  var sum = subgroupExclusiveAdd(own);
  if (seat.spot == seat.lanes - 1u) { wg_sums[seat.subgroup] = sum + own; }
  workgroupBarrier();
  #repeat 16: if (SUBGROUPS > $u) { sum += select(0u, wg_sums[$u], $u < seat.subgroup); }
  for (var d = seat.lane * EACH; d < (seat.lane + 1u) * EACH; d++) {
    #repeat 8: var n$ = 0u; if (ROWS > $u) { n$ = atomicLoad(&wg_found[$u * DIGITS + d]); }
    #repeat 8: let next$ = sum + (n$ & 0xffffu); if (ROWS > $u) { atomicStore(&wg_found[$u * DIGITS + d], sum | (next$ << 16u)); } sum = next$ + (n$ >> 16u);
  }
  workgroupBarrier();
}

// The place of an item in the workgroup, from its rank in the subgroup.
fn place_of(digit: u32, rank: u32, seat: Seat) -> u32 {
  return counted(atomicLoad(&wg_found[counter_of(digit, seat)]), seat) + rank;
}

// The place of the first item with a digit.
fn start_of(digit: u32) -> u32 { return atomicLoad(&wg_found[digit]) & 0xffffu; }
