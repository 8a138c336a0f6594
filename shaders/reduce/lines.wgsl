// Reductions: a workgroup reduces segments of lines, LANES invocations to a line, and each of them
// COLUMNS lines side by side. The parameters, the bindings, the accumulator and `reduce_segment` are
// written by dmlgpu/plan/reduce_code.py, because they depend on the function, the types and the layout.
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) invocation: u32,
) {
  reduce_segment(group.x + group.y * groups.x, invocation);
}
