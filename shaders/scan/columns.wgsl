// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along an outer axis: one invocation walks the axis with
// 16 bytes of neighbouring lines, so neighbours read neighbours.
override WG_SIZE: u32 = 128;
override EXCLUSIVE: bool = false;
const AHEAD = 8u; // loads in flight

struct Params {
  columns: u32,
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
#import lines
#import columns

// Writes one step of a column and returns the running values behind it.
fn step_down(at: Address, columns: Columns, sum: Nums, unit: vec4<u32>) -> Nums {
  let next = side_by_side(sum, unpack(unit));
  if (EXCLUSIVE) {
    store_columns(at, columns, pack(sum));
  } else {
    store_columns(at, columns, pack(next));
  }
  return next;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let columns = columns_at((group.x + group.y * groups.x) * WG_SIZE, lane, WG_SIZE);
  if (!columns.here) { return; }
  var sum = identities();
  var source = columns.source;
  var at = columns.target_;
  // The next loads are under way while these values are written.
  #repeat 8: var unit$ = vec4<u32>(); if (params.axis_size > $u) { unit$ = load_columns(source + $u * params.in_step); }
  for (var first = 0u; first < params.axis_size; first += AHEAD) {
    let left = params.axis_size - first;
    source += AHEAD * params.in_step;
    #repeat 8: var next$ = vec4<u32>(); if (left > AHEAD + $u) { next$ = load_columns(source + $u * params.in_step); }
    #repeat 8: if (left > $u) { sum = step_down(at + $u * params.out_step, columns, sum, unit$); }
    #repeat 8: unit$ = next$;
    at += AHEAD * params.out_step;
  }
}
