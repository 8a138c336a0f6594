// Copies rows that are reversed or thinned out, where each 16 bytes of the output come from one or two
// whole units of the input: one invocation owns one unit. For slices.
// Needs params.{count, source_base, sizes, out_strides, source_strides} and tuple_stride.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import place
#import rearrange
override WG_SIZE: u32 = 128;
override BITS: u32 = 32;
override STEP: i32 = 2; // 2 or -1
override UNIT: u32 = 128u / BITS; // elements in 16 bytes

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let unit = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (unit >= params.count) { return; }
  let source = place(unit * UNIT).source / UNIT;
  if (STEP == 2i) {
    store_output(unit, every_second(load_input(source), load_input(source + 1u)));
  } else {
    store_output(unit, reversed(load_input(source)));
  }
}
