// Moves a tile of elements through workgroup memory: read in the order of the source, written in
// the order of the output, so that both are walked along neighbouring addresses whatever the
// layouts. dmlgpu/plan/move/tile_code.py writes the binding of the source, and the tile: `Tile`,
// `tile_at`, `take_in` and `put_out`.
#param end: u32 // units of the output
#param tail: u32 // elements of the last of these
#param counts: array<vec4<u32>, 2> // tiles along each loop
#import invocation/in_workgroup
#import loops
#import first_elements
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  if (number >= params.count) { return; }
  let tile = tile_at(number);
  take_in(tile, me.lane);
  put_out(tile, me.lane);
}
