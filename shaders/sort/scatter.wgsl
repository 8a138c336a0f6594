// One pass of a radix sort, second half: the items of a tile go where the items before them end.
//
// The tile is sorted by the digit first, by its low four bits and then by its high four, so that
// items with one digit are written side by side. For each four bits an invocation counts its own
// PER items; sums over all counts, by digit and then by invocation, say where each goes. The ends of
// the loops are parameters, since CPU adapters would take long to compile what they write out.
#import invocation/in_workgroup
#import work
#import item
#import source
#import target
#bind read offsets: u32
const DIGITS = 256u;
const PER = 16u;
override TILE: u32 = WG_SIZE * PER;
override COUNTERS: u32 = WG_SIZE * 8u;
const TEAM = 16u; // invocations whose counts one of them sums up
override TEAMS: u32 = (WG_SIZE + TEAM - 1u) / TEAM;
var<workgroup> wg_items: array<Item, TILE>;
var<workgroup> wg_counters: array<u32, COUNTERS>; // of two digits each: d, and d + 8 above it
var<workgroup> wg_sums: array<u32, WG_SIZE>;
var<workgroup> wg_teams: array<u32, TEAMS>;
var<workgroup> wg_starts: array<u32, DIGITS>; // of the items of a digit, less their places in the tile

// Neighbouring invocations reach items PER apart: moved around, these lie in different banks.
fn slot(i: u32) -> u32 { return i ^ ((i >> 4u) & 15u); }

// The sum of all counts before each one: teams of invocations first, then all teams.
fn sum_counters(lane: u32) {
  #repeat 8: let own$ = wg_counters[lane * 8u + $u];
  wg_sums[lane] = own0 + own1 + own2 + own3 + own4 + own5 + own6 + own7;
  workgroupBarrier();
  if (lane * TEAM < WG_SIZE) {
    var sum = 0u;
    for (var k = lane * TEAM; k < min((lane + 1u) * TEAM, WG_SIZE); k++) {
      let found = wg_sums[k];
      wg_sums[k] = sum;
      sum += found;
    }
    wg_teams[lane] = sum;
  }
  workgroupBarrier();
  var sum = wg_sums[lane];
  for (var k = 0u; k < TEAMS; k++) {
    let found = wg_teams[k];
    // The digits from 8 on come behind all of those below.
    sum += select(0u, found, k < lane / TEAM) + (found << 16u);
  }
  #repeat 8: wg_counters[lane * 8u + $u] = sum; sum += own$;
}

// The counter of a digit, and how far up its bits lie.
fn counter_of(item: Item, shift: u32, lane: u32) -> vec2<u32> {
  let digit = item_digit(item, shift) % 16u;
  return vec2<u32>(digit % 8u * WG_SIZE + lane, digit / 8u * 16u);
}

fn count_item(item: Item, shift: u32, lane: u32) {
  let counter = counter_of(item, shift, lane);
  wg_counters[counter.x] += 1u << counter.y;
}

fn put_item(item: Item, shift: u32, lane: u32) {
  let counter = counter_of(item, shift, lane);
  let sum = wg_counters[counter.x];
  wg_counters[counter.x] = sum + (1u << counter.y);
  wg_items[slot((sum >> counter.y) & 0xffffu)] = item;
}

fn digit_at(k: u32) -> u32 { return item_digit(wg_items[slot(k)], params.shift) % DIGITS; }

// Where the items of a digit begin in the tile.
fn mark_digit(k: u32) {
  let digit = digit_at(k);
  if (k == 0u || digit_at(max(k, 1u) - 1u) != digit) { wg_starts[digit] = k; }
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  let lane = me.lane;
  let line = number / params.chunks;
  let first = number % params.chunks * TILE;
  let begin = line_begin(line);
  for (var k = lane; k < TILE; k += WG_SIZE) {
    var item = last_item();
    if (first + k < params.length) { item = item_at(begin, first + k); }
    wg_items[slot(k)] = item;
  }
  var own: array<Item, PER>;
  for (var part = 0u; part < params.digit_bits; part += 4u) {
    let shift = params.shift + part;
    workgroupBarrier();
    for (var k = 0u; k < params.per_lane; k++) { own[k] = wg_items[slot(lane * PER + k)]; }
    #repeat 8: wg_counters[$u * WG_SIZE + lane] = 0u;
    for (var k = 0u; k < params.per_lane; k++) { count_item(own[k], shift, lane); }
    workgroupBarrier();
    sum_counters(lane);
    workgroupBarrier();
    for (var k = 0u; k < params.per_lane; k++) { put_item(own[k], shift, lane); }
  }
  workgroupBarrier();
  if (number >= params.segments) { return; }
  let count = min(TILE, params.length - first);
  for (var k = lane; k < count; k += WG_SIZE) { mark_digit(k); }
  workgroupBarrier();
  for (var d = lane; d < DIGITS; d += WG_SIZE) {
    wg_starts[d] = load_offsets((line * DIGITS + d) * params.chunks + first / TILE) - wg_starts[d];
  }
  workgroupBarrier();
  let to = target_begin(line);
  for (var k = lane; k < count; k += WG_SIZE) {
    let item = wg_items[slot(k)];
    let rank = wg_starts[item_digit(item, params.shift) % DIGITS] + k;
    if (rank < params.kept) { store_item(to, rank, item); }
  }
}
