// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along an outer axis: one invocation walks the axis with
// 16 bytes of neighbouring lines side by side, so neighbours read neighbours.
override WG_SIZE: u32 = 128;
override EXCLUSIVE: bool = false;
const AHEAD = 8u; // loads in flight

struct Params {
  columns: u32, // units
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
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import num
#import fold
#import lines

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let column = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (column >= params.columns) { return; }
  let line = line_at(column); // every address and stride is in units here
  var total = identities();
  var source = line.source;
  var at = line.target_;
  for (var first = 0u; first < params.axis_size; first += AHEAD) {
    var units: array<vec4<u32>, AHEAD>;
    for (var k = 0u; k < AHEAD; k++) {
      if (first + k < params.axis_size) { units[k] = load_input(source + k * params.in_step); }
    }
    for (var k = 0u; k < AHEAD; k++) {
      if (first + k < params.axis_size) {
        let n = unpack(units[k]);
        var next: Nums;
        for (var j = 0u; j < PER_UNIT; j++) { next[j] = combine(total[j], n[j]); }
        if (EXCLUSIVE) {
          store_output(at + k * params.out_step, pack(total));
        } else {
          store_output(at + k * params.out_step, pack(next));
        }
        total = next;
      }
    }
    source += AHEAD * params.in_step;
    at += AHEAD * params.out_step;
  }
}
