// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of lines of some hundred tiles in one pass: a workgroup
// takes the next tile, keeps it in registers, publishes its sum and adds up the sums of all tiles
// before it in its line; always of the same values in the same order. It waits only for tiles that
// have started.
override WG_SIZE: u32 = 256;
const ROUNDS = 4u;

struct Params {
  tiles: u32, // of a line
  places: u32, // tiles of all lines
  axis_units: u32,
  axis_size: u32,
  in_base: u32,
  in_step: u32,
  out_base: u32,
  out_step: u32,
  sizes: array<vec4<u32>, 2>,
  in_strides: array<vec4<u32>, 2>,
  out_strides: array<vec4<u32>, 2>,
}
@group(0) @binding(0) var<uniform> params: Params;
#bind atomic status: u32
#import num
#import fold
#import io
#import lines
#import lanes
#import tile
#import publish

var<workgroup> wg_ticket: u32;
var<workgroup> wg_sums: array<Num, 64>; // of each subgroup
var<workgroup> wg_before: array<Num, 64>; // what each subgroup found of the tiles before

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) invocation: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  if (invocation == 0u) { wg_ticket = take_ticket(groups); }
  let number = number_of(workgroupUniformLoad(&wg_ticket), invocation, WG_SIZE);
  if (number >= params.places) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let subgroups = WG_SIZE / lane_count;
  let which = number / params.tiles;
  let origin = which * params.tiles;
  let line = line_at(which);
  let end = params.axis_units;
  let first = (number - origin) * WG_SIZE * ROUNDS + subgroup * lane_count * ROUNDS + lane;
  #repeat 4: let raw$ = take_round(line.source, first + $u * lane_count, end);
  #repeat 4: let held$ = settled(raw$, line.source, first + $u * lane_count);
  var sum = identity();
  #repeat 4: sum = combine(sum, total(values(held$)));
  sum = sum_lanes(sum, lanes);
  if (lane == 0u) { wg_sums[subgroup] = sum; }
  workgroupBarrier();
  var tile_sum = identity();
  var before = identity();
  for (var g = 0u; g < subgroups; g++) {
    if (g == subgroup) { before = tile_sum; }
    tile_sum = combine(tile_sum, wg_sums[g]);
  }
  if (invocation == 0u) { publish(number, tile_sum); }
  var run = identity();
  #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
  var share = identity();
  for (var i = origin + subgroup * lane_count + lane; i < number; i += WG_SIZE) {
    share = combine(share, wait_for(i));
  }
  share = sum_lanes(share, lanes);
  if (lane == 0u) { wg_before[subgroup] = share; }
  workgroupBarrier();
  var start = identity();
  for (var g = 0u; g < subgroups; g++) { start = combine(start, wg_before[g]); }
  start = combine(start, before);
  #repeat 4: write_round(line.target_, first + $u * lane_count, end, round$, start);
}
