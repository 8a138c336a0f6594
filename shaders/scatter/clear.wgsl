// Scatters, before the claims: no place has a winner.
#param size: u32
#bind write winners: u32
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let first = (group.x + group.y * groups.x) * 8u * WG_SIZE + lane;
  #repeat 8: if (first + $u * WG_SIZE < params.size) { store_winners(first + $u * WG_SIZE, 0u); }
}
