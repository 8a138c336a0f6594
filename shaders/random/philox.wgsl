// Random bits: an invocation makes the four words that the counter plus its number gives.
#import invocation/in_workgroup
#param count: u32 // blocks
#param step: u32 // through the state: four words of a counter, and two of a key
#bind read state: u32
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let block = group_of(me) * WG_SIZE + me.lane;
  if (block >= params.count) { return; }
  #repeat 6: let s$ = load_state($u * params.step);
  let counter = math_philox_advanced(vec4<u32>(s0, s1, s2, s3), block);
  store_output(block, math_philox(counter, vec2<u32>(s4, s5)));
}
