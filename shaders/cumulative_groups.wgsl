// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: a workgroup scans one line a tile at a time, reading and
// writing each element once; each subgroup owns a run of the tile and one barrier joins the runs.
override WG_SIZE: u32 = 256;
const ROUNDS = 4u;

struct Params {
  lines: u32,
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
#import num
#import fold
#import io
#import lines
#import lanes
#import tile

var<workgroup> wg_totals: array<Num, 64>; // of each subgroup

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.lines) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let line = line_at(number);
  let end = params.axis_units;
  var carry = identity();
  for (var tile = 0u; tile < end; tile += WG_SIZE * ROUNDS) {
    let first = tile + subgroup * ROUNDS * lane_count + lane;
    #repeat 4: let held$ = take_round(line.source, first + $u * lane_count, end);
    var run = identity();
    #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
    if (tile > 0u) { workgroupBarrier(); }
    if (lane == 0u) { wg_totals[subgroup] = run; }
    workgroupBarrier();
    var before = carry;
    for (var g = 0u; g < WG_SIZE / lane_count; g++) {
      if (g == subgroup) { before = carry; }
      carry = combine(carry, wg_totals[g]);
    }
    #repeat 4: write_round(line.target_, first + $u * lane_count, end, round$, before);
  }
}
