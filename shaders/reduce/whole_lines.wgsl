// Work on lines that a workgroup keeps in registers: some invocations to a line, each with a few units
// of it. Every element is read once and written once. `make_lines` is written by
// dmlgpu/plan/reduce/whole_lines.py, or short_lines.py where an invocation has some lines by itself.
#import invocation/in_workgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { make_lines(group_of(me), me.lane); }
