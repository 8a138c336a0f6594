// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along an outer axis: one invocation walks the axis with
// 16 bytes of neighbouring lines, so neighbours read neighbours.
override WG_SIZE: u32 = 128;
const AHEAD = 8u; // loads in flight

#param columns: u32
#import num
#import fold
#import lines
#import columns
#import step_down

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
