// Which invocation of which subgroup and workgroup.
struct Invocation {
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) subgroup_size: u32,
  @builtin(subgroup_id) subgroup: u32,
}

fn group_of(at: Invocation) -> u32 { return at.group.x + at.group.y * at.groups.x; }
