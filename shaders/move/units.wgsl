// Copies 16 bytes at a time, for layouts in which every run starts and ends on whole units: all
// strides are in units. An invocation owns RUN units of the output side by side, gaps included, of which
// only those that begin a run are looked up.
// Needs tuple_stride and resolve.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import invocation/in_workgroup
#import place
override WG_SIZE: u32 = 256;
override RUN: u32 = 1;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let first = (number * WG_SIZE + me.lane) * RUN;
  let end = min(first + RUN, params.count);
  for (var unit = first; unit < end;) {
    let at = place(unit);
    if (is_element(at)) {
      let source = resolve(at.source, at.tuple_at);
      let run = min(size - at.inner, end - unit);
      for (var k = 0u; k < run; k++) { store_output(unit + k, load_input(source + k)); }
      unit += run;
    } else {
      store_output(unit, vec4<u32>());
      unit += 1u;
    }
  }
}
