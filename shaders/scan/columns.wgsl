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

// Writes one step of a column and returns the running values behind it.
fn step_down(at: u32, sum: Nums, unit: vec4<u32>) -> Nums {
  let next = side_by_side(sum, unpack(unit));
  if (EXCLUSIVE) { store_output(at, pack(sum)); } else { store_output(at, pack(next)); }
  return next;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let column = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (column >= params.columns) { return; }
  let line = line_at(column); // every address and stride is in units here
  var sum = identities();
  var source = line.source;
  var at = line.target_;
  // The next loads are under way while these values are written.
  #repeat 8: var unit$ = vec4<u32>(); if (params.axis_size > $u) { unit$ = load_input(source + $u * params.in_step); }
  for (var first = 0u; first < params.axis_size; first += AHEAD) {
    let left = params.axis_size - first;
    source += AHEAD * params.in_step;
    #repeat 8: var next$ = vec4<u32>(); if (left > AHEAD + $u) { next$ = load_input(source + $u * params.in_step); }
    #repeat 8: if (left > $u) { sum = step_down(at + $u * params.out_step, sum, unit$); }
    #repeat 8: unit$ = next$;
    at += AHEAD * params.out_step;
  }
}
