// Reductions as in lines.wgsl, by invocations that are numbered by their subgroups, so that those side
// by side can shuffle. `reduce_segment` is written by dmlgpu/plan/reduce/code.py.
#import invocation/in_subgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { reduce_segment(group_of(me), me.subgroup * me.subgroup_size + me.lane); }
