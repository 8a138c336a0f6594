// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of lines that follow each other in memory: a workgroup scans
// some whole lines as one run of 16-byte units, of which each subgroup has a part, so that no lane is
// idle whatever the length of lines. They begin anywhere in a unit, and sums begin anew with them. The
// unit in which the last line of a workgroup ends is written whole: the results of the next lines begin
// there, so they are known.
override WG_SIZE: u32 = 256;
override EXCLUSIVE: bool = false;
const ROUNDS = 4u;

#param lines: u32 // all of them
#param axis_size: u32 // elements of a line
#param group_lines: u32 // of a workgroup
#param in_base: u32 // addresses of the first element walked, at the same place of a unit
#param out_base: u32
#param begins: u32 // bits of the elements of a unit that begin lines, if the first one does
#import invocation/in_subgroup
#import num
#import fold
#import whole_units
#import lanes

var<workgroup> wg_totals: array<Num, 64>; // of the last line that a subgroup has a part of
var<workgroup> wg_begins: array<u32, 64>; // 1 where that line begins in the subgroup's part

// A unit of each lane, with what comes before it in the subgroup's part.
struct Round {
  held: Held,
  begins: u32, // bits of the elements that begin lines
  is_cut: bool, // lines begin in units of some lane
  is_open: bool, // the line of the first element has begun before the subgroup's part
  before: Num, // of that line
  after: Num, // of the last line, with all of the round
}

// `place` is that of the unit's first element in its line, `past` how many units the subgroup has before.
fn add_round(held: Held, place: u32, past: u32, run: Num, lanes: Lanes) -> Round {
  let first = select(params.axis_size - place, 0u, place == 0u); // element that begins a line
  let goes_on = first >= PER_UNIT;
  let begins = select(params.begins << (first % PER_UNIT), 0u, goes_on);
  let behind = (place + PER_UNIT - 1u) / PER_UNIT; // units since the one that its line begins in
  let is_cut = subgroupAny(!goes_on);
  let v = values(held);
  var sum = identity();
  if (is_cut) { sum = last(running_anew(identity(), v, begins)); } else { sum = total(v); }
  sum = across_lanes(sum, select(0u, min(behind, lanes.id), goes_on), lanes);
  if (goes_on && behind > lanes.id) { sum = combine(run, sum); }
  var before = subgroupShuffleUp(sum, 1u);
  if (lanes.id == 0u) { before = run; }
  return Round(held, begins, is_cut, behind > past, before, subgroupShuffle(sum, lanes.size - 1u));
}

// `carry` is what the subgroups before this one have of the line that is open.
fn results(round: Round, carry: Num) -> Nums {
  let v = values(round.held);
  var first = round.before;
  if (round.is_open) { first = combine(carry, first); }
  if (round.is_cut) {
    let n = running_anew(first, v, round.begins);
    if (EXCLUSIVE) { return emptied(shifted(first, n), round.begins); }
    return n;
  }
  let n = running(first, v);
  if (EXCLUSIVE) { return shifted(first, n); }
  return n;
}

// A place in a line, some elements on, or in the next one.
fn moved(place: u32, step: u32) -> u32 {
  let at = place + step;
  return select(at, at - params.axis_size, at >= params.axis_size);
}

@compute @workgroup_size(WG_SIZE)
fn main(at: Invocation) {
  let number = group_of(at);
  let line = number * params.group_lines;
  if (line >= params.lines) { return; }
  let missing = select(params.out_base, ~params.out_base, BACKWARD) % PER_UNIT; // of the first unit
  let start = missing + line * params.axis_size;
  let end = missing + min(line + params.group_lines, params.lines) * params.axis_size;
  let first = start / PER_UNIT;
  let units = (end + PER_UNIT - 1u) / PER_UNIT - first;
  let not_own = start - first * PER_UNIT; // elements of the workgroup's first unit

  let lane_count = lanes_in(at.subgroup_size);
  let lanes = Lanes(at.lane, lane_count, at.subgroup);
  let own = at.subgroup * ROUNDS * lane_count + at.lane;
  // No load is in a branch: a lane without a unit has the last one again.
  #repeat 4: let unit$ = own + $u * lane_count; let held$ = load_input(unit_index(params.in_base, first + min(unit$, units - 1u)));

  let step = lane_count * PER_UNIT % params.axis_size;
  var place = (own * PER_UNIT + PER_UNIT * params.axis_size - not_own) % params.axis_size;
  var run = identity();
  #repeat 4: let round$ = add_round(held$, place, $u * lane_count + at.lane, run, lanes); run = round$.after; place = moved(place, step);
  if (at.lane == lane_count - 1u) {
    wg_totals[at.subgroup] = run;
    wg_begins[at.subgroup] = select(1u, 0u, round3.begins == 0u && round3.is_open);
  }
  workgroupBarrier();
  var carry = identity();
  for (var g = 0u; g < at.subgroup; g++) {
    carry = combine(select(carry, identity(), wg_begins[g] == 1u), wg_totals[g]);
  }
  #repeat 4: if (unit$ < units && (unit$ > 0u || not_own == 0u || number == 0u)) { store_output(unit_index(params.out_base, first + unit$), pack(in_order(results(round$, carry)))); }
}
