// Moves a tile of elements through workgroup memory: read in the order of the source, written in the
// order of the output, so that both are walked along neighbouring addresses whatever the layouts.
// dmlgpu/plan/tile_code.py writes the binding of the source, and the tile: `Tile`, `tile_at`, `take_in`,
// `follow` and `put_out`.
#param end: u32 // units of the output
#param tail: u32 // elements of the last of these
#param counts: array<vec4<u32>, 2> // tiles along each loop
#import loops
#import first_elements
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.count) { return; }
  let tile = tile_at(number);
  take_in(tile, lane);
  workgroupBarrier();
  follow(tile, lane);
  put_out(tile, lane);
}
