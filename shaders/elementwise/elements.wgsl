// Element-wise work: one invocation makes one group of neighbouring output elements, or several.
// The parameters, the bindings and `make_groups` are written by dmlgpu/plan/elementwise/code.py,
// because they depend on how many tensors there are, of which types, and on the operator's
// expression.
#import invocation/in_workgroup
override WG_SIZE: u32 = 128;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { make_groups(group_of(me), me.lane); }
