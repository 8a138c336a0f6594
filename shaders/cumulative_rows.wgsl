// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: one workgroup scans one line, a tile at a time, reading
// and writing each element once.
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
#import tile

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
  var carry = identity();
  for (var first = 0u; first < params.axis_units; first += WG_SIZE * ROUNDS) {
    let tile = read_tile(line.source, first, params.axis_units, lanes);
    let joined = join_tile(tile.total, lanes);
    write_tile(line.target_, first, params.axis_units, tile, combine(carry, joined[0]), lanes);
    carry = combine(carry, joined[1]);
  }
}
