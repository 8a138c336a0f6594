// Element-wise work: one invocation makes one group of neighbouring output elements, or several.
// The parameters, the bindings and `make_groups` are written by dmlgpu/plan/elementwise/code.py,
// because they depend on how many tensors there are, of which types, and on the operator's
// expression.
override WG_SIZE: u32 = 128;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  make_groups(group.x + group.y * groups.x, lane);
}
