// The columns of the invocations of a subgroup lie side by side: a frame. Needs columns.
override COLUMNS: u32 = 32; // lanes of a subgroup

struct Invocation {
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
}

fn columns_for(at: Invocation) -> Columns {
  let frame = (at.group.x + at.group.y * at.groups.x) * (WG_SIZE / COLUMNS) + at.subgroup;
  return columns_at(frame * COLUMNS, at.lane, COLUMNS);
}
