// Work on lines as in whole_lines.wgsl, by invocations that are numbered by their subgroups, so that
// those side by side can shuffle. `make_lines` is written by dmlgpu/plan/whole_lines.py.
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) place: u32,
) {
  make_lines(group.x + group.y * groups.x, subgroup * size + place);
}
