// Copies 16 bytes at a time, for layouts in which every run starts and ends on whole units: all
// strides are in units. One invocation owns one or two units of the
// output, gaps included.
// Needs params.{count, source_base, sizes, out_strides, source_strides}, tuple_stride and resolve.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import place
override WG_SIZE: u32 = 256;
override PAIRS: bool = false;

fn unit_at(at: Place) -> vec4<u32> {
  let inner = RANK - 1u;
  if (at.in_gap || at.inner >= params.sizes[inner / 4u][inner % 4u]) { return vec4<u32>(); }
  return load_input(resolve(at.source, at.tuple_at));
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let first = (group.x + group.y * groups.x) * select(1u, 2u, PAIRS) * WG_SIZE + lane;
  if (PAIRS) {
    // Two units, so that the loads of both are under way at once.
    #repeat 2: let unit$ = first + $u * WG_SIZE; let at$ = place(unit$);
    #repeat 2: let v$ = unit_at(at$);
    #repeat 2: if (unit$ < params.count) { store_output(unit$, v$); }
  } else if (first < params.count) {
    store_output(first, unit_at(place(first)));
  }
}
