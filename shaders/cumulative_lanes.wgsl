// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of short lines: a lane holds 16 bytes, a subgroup as
// many whole lines as it has lanes for, and ROUNDS such sets of lines.
override WG_SIZE: u32 = 256;
override EXCLUSIVE: bool = false;
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

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let lanes = Lanes(lane, lane_count, subgroup);
  let subgroups = WG_SIZE / lane_count;
  let at_once = lane_count / params.axis_units; // lines of one subgroup and round
  let which = lane / params.axis_units;
  let place = lane - which * params.axis_units;
  let batch = at_once * ROUNDS;
  let step = groups.x * groups.y * subgroups * batch;
  for (var first = ((group.x + group.y * groups.x) * subgroups + subgroup) * batch;
    first < params.lines; first += step) {
    #repeat 4: let number$ = first + $u * at_once + which; let on$ = which < at_once && number$ < params.lines;
    #repeat 4: let line$ = line_at(min(number$, params.lines - 1u)); var held$ = no_values();
    #repeat 4: if (on$) { held$ = read_unit(line$.source, place); }
    #repeat 4: let n$ = values(settled(held$, line$.source, place)); let sum$ = across_lanes(total(n$), place, lanes);
    #repeat 4: let before$ = lanes_before(sum$, place); let done$ = running(before$, n$);
    #repeat 4: if (on$) { if (EXCLUSIVE) { write_unit(line$.target_, place, shifted(before$, done$)); } else { write_unit(line$.target_, place, done$); } }
  }
}
