// Element-wise work with operands that lie across the output: a workgroup reads a tile of them into
// workgroup memory, then makes the groups of the tile. The parameters, the bindings, the tile and
// `make_tile` are written by dmlgpu/plan/elementwise/code.py with across.py or short_rows.py beside
// it.
#import invocation/in_workgroup
#import turned
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  if (number < params.count) { make_tile(tile_at(number), me.lane); }
}
