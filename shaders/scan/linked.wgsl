// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of lines of some hundred tiles in one pass: a workgroup
// takes the next tile, keeps it in registers, publishes its sum and adds up the sums of all tiles
// before it in its line; always the same values in the same order. It waits only for tiles that have
// started, and not for ever: it computes by itself what does not arrive. So it must not run in place.
override WG_SIZE: u32 = 256;

#param tiles: u32 // of a line
#import num
#import fold
#import io
#import lines
#import lanes
#import tile
#import tile_sum
#import publish

var<workgroup> wg_ticket: u32;
var<workgroup> wg_before: array<Num, 64>; // what each subgroup found of the tiles before

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) index: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) subgroup_size: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let lane_count = lanes_in(subgroup_size);
  if (index == 0u) { wg_ticket = take_ticket(groups); }
  let number = number_of(workgroupUniformLoad(&wg_ticket), index, WG_SIZE);
  if (number >= params.places) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let invocation = subgroup * lane_count + lane;
  let subgroups = WG_SIZE / lane_count;
  let which = number / params.tiles;
  let origin = which * params.tiles;
  let line = line_at(which);
  let end = params.axis_units;
  let first = first_unit(number - origin, lanes);
  #repeat 4: let raw$ = take_round(line.source, first + $u * lane_count, end);
  #repeat 4: let held$ = settled(raw$, line.source, first + $u * lane_count);
  add_up(held0, held1, held2, held3, lanes);
  if (invocation == 0u) { publish(number, sum_of_subgroups(subgroups)); }
  let before = sum_of_subgroups(subgroup);
  var run = identity();
  #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
  var share = identity();
  var i = origin + invocation; // the next sum that this invocation adds
  loop {
    for (; i < number; i += WG_SIZE) {
      let seen = wait_for(i);
      if (!seen.here) { break; }
      share = combine(share, seen.value);
    }
    // The whole workgroup computes one of the sums that are late, and goes on.
    if (i < number) { atomicMax(&wg_late, i + 1u); }
    let late = workgroupUniformLoad(&wg_late);
    if (late == 0u) { break; }
    let sum = sum_of_tile(line, late - 1u - origin, lanes);
    if (invocation == 0u) {
      publish(late - 1u, sum);
      atomicStore(&wg_late, 0u);
    }
    if (i == late - 1u) {
      share = combine(share, sum);
      i += WG_SIZE;
    }
    workgroupBarrier();
  }
  share = sum_lanes(share, lanes);
  if (lane == 0u) { wg_before[subgroup] = share; }
  workgroupBarrier();
  var start = identity();
  for (var g = 0u; g < subgroups; g++) { start = combine(start, wg_before[g]); }
  start = combine(start, before);
  #repeat 4: write_round(line.target_, first + $u * lane_count, end, round$, start);
}
