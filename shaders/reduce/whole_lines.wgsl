// Work on lines that a workgroup keeps in registers: LANES invocations to a line, each with a few
// units of it. Every element is read once and written once; what the invocations of a line know of it
// is joined through workgroup memory. The rest is written by dmlgpu/plan/normalize.py.
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) invocation: u32,
) {
  make_lines(group.x + group.y * groups.x, invocation);
}
