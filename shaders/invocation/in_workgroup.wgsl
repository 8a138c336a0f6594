// Which invocation of which workgroup.
struct Invocation {
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
}

fn group_of(at: Invocation) -> u32 { return at.group.x + at.group.y * at.groups.x; }
