// Element-wise work: one invocation makes one group of neighbouring output elements. The parameters,
// the bindings and `make_group` are written by dmlgpu/plan/elementwise.py, because they depend on how
// many tensors there are, of which types, and on the operator's expression.
override WG_SIZE: u32 = 128;
override EACH: u32 = 1; // groups of an invocation, a workgroup apart: 1 or 4

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let first = (group.x + group.y * groups.x) * WG_SIZE * EACH + lane;
  if (first < params.count) { make_group(first); }
  if (EACH == 4u) {
    #repeat 3: let next$ = first + ($u + 1u) * WG_SIZE; if (next$ < params.count) { make_group(next$); }
  }
}
