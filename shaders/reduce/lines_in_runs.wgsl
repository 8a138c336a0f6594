// Work on whole lines that follow each other in memory, some of which a workgroup keeps in registers as
// one run of 16-byte units. `make_run` is written by dmlgpu/plan/line_runs.py.
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  make_run(group.x + group.y * groups.x, subgroup, lane, size);
}
