// JOIN and others that make a part of an output on a GPU, unit by unit: one invocation makes all that
// belongs to the part there. `make_group` is written by dmlgpu/plan/move/windows.py.
#import invocation/in_workgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me) * WG_SIZE + me.lane;
  if (number < params.count) { make_group(number); }
}
