// Work on lines that a workgroup keeps in registers: some invocations to a line, each with a few units
// of it. Every element is read once and written once. `make_lines` is written by
// dmlgpu/plan/whole_lines.py, or short_lines.py where an invocation has some lines by itself.
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) invocation: u32,
) {
  make_lines(group.x + group.y * groups.x, invocation);
}
