// Philox 4x32-10, the counter-based random numbers of Salmon, Moraes, Dror and Shaw (2011): the
// block of four words that the counter plus the invocation's number gives.
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
  var c = math_philox_advanced(vec4<u32>(s0, s1, s2, s3), block);
  #repeat 10: c = math_philox_round(c, vec2<u32>(s4, s5) + $u * vec2<u32>(0x9e3779b9u, 0xbb67ae85u));
  store_output(block, c);
}
