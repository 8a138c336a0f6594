// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: a subgroup scans one line, ROUNDS units per lane at a
// time, reading and writing each element once; no subgroup waits for another.
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

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let lanes = Lanes(lane, lane_count, subgroup);
  // The grid is made for the largest subgroups; smaller ones take further lines.
  let subgroups = WG_SIZE / lane_count;
  let step = groups.x * groups.y * subgroups;
  let end = params.axis_units;
  for (var number = (group.x + group.y * groups.x) * subgroups + subgroup; number < params.lines;
    number += step) {
    let line = line_at(number);
    var carry = identity();
    for (var first = lane; first < end + lane; first += lane_count * ROUNDS) {
      #repeat 4: let held$ = take_round(line.source, first + $u * lane_count, end);
      let run = identity();
      let round0 = add_round(held0, run, lanes);
      let round1 = add_round(held1, round0.after, lanes);
      let round2 = add_round(held2, round1.after, lanes);
      let round3 = add_round(held3, round2.after, lanes);
      #repeat 4: write_round(line.target_, first + $u * lane_count, end, round$, carry);
      carry = combine(carry, round3.after);
    }
  }
}
