// Work on lines as in whole_lines.wgsl, by invocations that are numbered by their subgroups, so that
// those side by side can shuffle. `make_lines` is written by dmlgpu/plan/reduce/whole_lines.py.
#import invocation/in_subgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { make_lines(group_of(me), me.subgroup * me.subgroup_size + me.lane); }
