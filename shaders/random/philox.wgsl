// Random bits: an invocation makes the four words that the counter plus its number gives.
#param count: u32 // blocks
#param step: u32 // through the state: four words of a counter, and two of a key
#bind read state: u32
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let block = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (block >= params.count) { return; }
  #repeat 6: let s$ = load_state($u * params.step);
  let counter = math_philox_advanced(vec4<u32>(s0, s1, s2, s3), block);
  store_output(block, math_philox(counter, vec2<u32>(s4, s5)));
}
