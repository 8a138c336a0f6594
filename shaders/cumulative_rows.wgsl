// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: a subgroup scans one line, ROUNDS units per lane at a
// time, or two short lines at once, reading and writing each element once; no subgroup waits for
// another.
override WG_SIZE: u32 = 256;
override PAIRS: bool = false; // two lines, neither longer than half the rounds
override AT_ONCE: u32 = select(1u, 2u, PAIRS);
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
  let step = groups.x * groups.y * subgroups * AT_ONCE;
  let end = params.axis_units;
  for (var number = ((group.x + group.y * groups.x) * subgroups + subgroup) * AT_ONCE;
    number < params.lines; number += step) {
    let line = line_at(number);
    var other = line; // of the later rounds
    var other_end = end;
    if (PAIRS) {
      other = line_at(min(number + 1u, params.lines - 1u));
      other_end = select(0u, end, number + 1u < params.lines);
    }
    var carry = identity();
    // The same for all lanes: drivers are slow to shuffle where some may have left a loop.
    for (var base = 0u; base < end; base += lane_count * ROUNDS) {
      let p0 = base + lane;
      let p1 = p0 + lane_count;
      let p2 = select(p1 + lane_count, p0, PAIRS);
      let p3 = p2 + lane_count;
      let raw0 = take_round(line.source, p0, end);
      let raw1 = take_round(line.source, p1, end);
      let raw2 = take_round(other.source, p2, other_end);
      let raw3 = take_round(other.source, p3, other_end);
      let round0 = add_round(settled(raw0, line.source, p0), identity(), lanes);
      let round1 = add_round(settled(raw1, line.source, p1), round0.after, lanes);
      var run = round1.after;
      if (PAIRS) { run = identity(); }
      let round2 = add_round(settled(raw2, other.source, p2), run, lanes);
      let round3 = add_round(settled(raw3, other.source, p3), round2.after, lanes);
      write_round(line.target_, p0, end, round0, carry);
      write_round(line.target_, p1, end, round1, carry);
      write_round(other.target_, p2, other_end, round2, carry);
      write_round(other.target_, p3, other_end, round3, carry);
      carry = combine(carry, round3.after);
    }
  }
}
