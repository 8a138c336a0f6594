// Reductions: a workgroup reduces segments of lines, some invocations to a line, and each of them
// one line or several side by side. The parameters, the bindings, the accumulator and
// `reduce_segment` are written by dmlgpu/plan/reduce/code.py, because they depend on the function,
// the types and the layout.
#import invocation/in_workgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { reduce_segment(group_of(me), me.lane); }
