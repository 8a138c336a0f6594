// The first items of each segment where few are wanted: invocations keep the items of a segment in
// registers. Mostly a bound leaves few of them, which are compared with each other; where it leaves
// many, the first of all is found and taken out in every round. Of equal keys the one with the lower
// place comes first. Items have keys of up to 32 bits.
#import work
#import item
#import source
#import target
#import seat
override PER: u32 = 16; // items of an invocation: 4, 8 or 16
const NOWHERE = 0xffffffffu;
const MOST_SUBGROUPS = 64u;
var<workgroup> wg_keys: array<u32, 2u * MOST_SUBGROUPS>; // of each subgroup, in this round and the next
var<workgroup> wg_places: array<u32, 2u * MOST_SUBGROUPS>;

var<workgroup> wg_near: atomic<u32>; // items that are not above the bound
var<workgroup> wg_count: u32;
var<workgroup> wg_first: array<First, WG_SIZE>;

struct First {
  key: u32,
  number: u32, // of the item in its segment
}

fn first_of(a: First, b: First) -> First {
  let second = b.key < a.key || (b.key == a.key && b.number < a.number);
  return First(select(a.key, b.key, second), select(a.number, b.number, second));
}

fn work(number: u32, seat: Seat) {
  let lane = seat.lane;
  let subgroup = seat.subgroup;
  let spot = seat.spot;
  let lanes = seat.lanes;
  let subgroups = seat.subgroups;
  let segment = min(number, params.segments - 1u);
  let line = segment / params.chunks;
  let begin = line_begin(line);
  let start = (segment - line * params.chunks) << params.room;
  let last = params.length - 1u;
  // What is beyond the line, or is taken out, counts as the last of all keys.
  #repeat 16: var key$ = NOWHERE; if (PER > $u) { key$ = item_key(item_at(begin, min(start + lane + $u * WG_SIZE, last))); }
  #repeat 16: if (start + lane + $u * WG_SIZE > last) { key$ = NOWHERE; }
  var own_key = NOWHERE;
  #repeat 16: own_key = min(own_key, key$);
  // At least `kept` items are not above this bound: every subgroup has its share of invocations whose
  // first item is not above what it says, and the highest such word is taken.
  var key = own_key;
  var said = 0u;
  for (var share = 0u; share < params.kept; share += subgroups) {
    said = subgroupMin(key);
    if (key == said) { key = NOWHERE; }
  }
  wg_keys[subgroup] = said;
  if (lane == 0u) { atomicStore(&wg_near, 0u); }
  workgroupBarrier();
  var bound = 0u;
  for (var s = 0u; s < subgroups; s += lanes) {
    bound = max(bound, subgroupMax(wg_keys[min(s + spot, subgroups - 1u)]));
  }
  if (own_key <= bound && bound < NOWHERE) {
    #repeat 16: if (key$ <= bound) { let near = atomicAdd(&wg_near, 1u); if (near < WG_SIZE) { wg_first[near] = First(key$, lane + $u * WG_SIZE); } }
  }
  workgroupBarrier();
  if (lane == 0u) { wg_count = select(NOWHERE, atomicLoad(&wg_near), bound < NOWHERE); }
  let count = workgroupUniformLoad(&wg_count);
  if (count <= WG_SIZE) {
    // So few that each can be compared with all.
    let mine = wg_first[min(lane, count - 1u)];
    var rank = 0u;
    for (var i = 0u; i < count; i += 4u) {
      #repeat 4: let other$ = wg_first[min(i + $u, WG_SIZE - 1u)];
      #repeat 4: rank += u32(i + $u < count && (other$.key < mine.key || (other$.key == mine.key && other$.number < mine.number)));
    }
    if (lane < count && rank < params.kept && number < params.segments) {
      store_item(target_begin(number), rank, item_again(begin, start + mine.number, mine.key));
    }
    return;
  }
  #repeat 16: var at$ = select(NOWHERE, lane + $u * WG_SIZE, PER > $u && start + lane + $u * WG_SIZE <= last);
  var own = First(NOWHERE, NOWHERE);
  #repeat 16: own = first_of(own, First(key$, at$));
  var mine = 0u; // the item of the round that has the number of this invocation
  for (var round = 0u; round < params.kept; round++) {
    let low = subgroupMin(own.key);
    let place = subgroupMin(select(NOWHERE, own.number, own.key == low));
    let side = (round & 1u) * MOST_SUBGROUPS;
    wg_keys[side + subgroup] = low;
    wg_places[side + subgroup] = place;
    workgroupBarrier();
    // A subgroup finds the first of so many others at once.
    var best = First(NOWHERE, NOWHERE);
    for (var s = 0u; s < subgroups; s += lanes) {
      let from_ = side + min(s + spot, subgroups - 1u);
      let key_ = subgroupMin(wg_keys[from_]);
      let place_ = subgroupMin(select(NOWHERE, wg_places[from_], wg_keys[from_] == key_));
      best = first_of(best, First(key_, place_));
    }
    if (lane == round) { mine = best.number; }
    if (own.number == best.number) {
      #repeat 16: if (at$ == best.number) { key$ = NOWHERE; at$ = NOWHERE; }
      own = First(NOWHERE, NOWHERE);
      #repeat 16: own = first_of(own, First(key$, at$));
    }
  }
  if (lane < params.kept && number < params.segments) {
    store_item(target_begin(number), lane, item_at(begin, start + mine));
  }
}
