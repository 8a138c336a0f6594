// Where an invocation sits in its workgroup, for kernels whose subgroups work together. Needs WG_SIZE
// and `work`.
struct Seat {
  lane: u32,
  subgroup: u32,
  spot: u32, // in the subgroup
  lanes: u32, // of a subgroup
  subgroups: u32,
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_invocation_id) spot: u32,
  @builtin(subgroup_size) lanes: u32,
  @builtin(num_subgroups) subgroups: u32,
) {
  work(group.x + group.y * groups.x, Seat(lane, subgroup, spot, lanes, subgroups));
}
