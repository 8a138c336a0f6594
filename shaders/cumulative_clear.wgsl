// Sets the words that a single-pass scan publishes through to zero.
override WG_SIZE: u32 = 256;
struct Params {
  count: u32, // units of 16 bytes
}
@group(0) @binding(0) var<uniform> params: Params;
#bind write status: vec4<u32>

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let unit = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (unit < params.count) { store_status(unit, vec4<u32>()); }
}
