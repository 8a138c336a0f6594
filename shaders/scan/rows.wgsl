// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of short lines: a subgroup scans whole lines, reading and
// writing each element once, and waits for no other one. Its lanes hold ROUNDS units of 16 bytes each:
// of one line, of two that take half of the rounds, or, in every round, of as many lines as there are
// lanes for.
override WG_SIZE: u32 = 256;
override LINE_ROUNDS: u32 = 4; // of each line: 4, 2, or 1 for lines side by side
const ROUNDS = 4u;

#param axis_units: u32
#import invocation/in_subgroup
#import num
#import fold
#import io
#import lines
#import lanes
#import tile

@compute @workgroup_size(WG_SIZE)
fn main(at: Invocation) {
  let lane_count = lanes_in(at.subgroup_size);
  let end = params.axis_units;
  var beside = 1u; // lines of one round
  var which = 0u; // the one that this lane holds a unit of
  if (LINE_ROUNDS == 1u) {
    beside = lane_count / end;
    which = at.lane / end;
  }
  let lanes = Lanes(at.lane - which * end, lane_count, at.subgroup); // numbered within the line
  // The grid is made for the largest subgroups; smaller ones take further lines.
  let subgroups = WG_SIZE / lane_count;
  let at_once = beside * (ROUNDS / LINE_ROUNDS);
  let step = at.groups.x * at.groups.y * subgroups * at_once;
  for (var first = (group_of(at) * subgroups + at.subgroup) * at_once;
    first < params.lines; first += step) {
    #repeat 4: let number$ = first + $u / LINE_ROUNDS * beside + which; let line$ = line_at(min(number$, params.lines - 1u));
    #repeat 4: let end$ = select(0u, end, which < beside && number$ < params.lines);
    var carry = identity();
    // The same for all lanes: drivers are slow to shuffle where some may have left a loop.
    for (var base = 0u; base < end; base += lane_count * LINE_ROUNDS) {
      #repeat 4: let p$ = base + $u % LINE_ROUNDS * lane_count + lanes.id;
      #repeat 4: let raw$ = take_round(line$, p$, end$);
      var run = identity();
      #repeat 4: if ($u % LINE_ROUNDS == 0u) { run = identity(); } let round$ = add_round(settled(raw$, line$, p$), run, lanes); run = round$.after;
      #repeat 4: write_round(line$.target_, p$, end$, round$, carry);
      if (LINE_ROUNDS < ROUNDS) { break; } // such lines take one turn
      carry = combine(carry, run);
    }
  }
}
