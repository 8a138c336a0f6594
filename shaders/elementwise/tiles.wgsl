// Element-wise work with operands that lie across the output: a workgroup reads a tile of them into
// workgroup memory, then makes the groups of the tile. The parameters, the bindings, the tile and
// `make_tile` are written by dmlgpu/plan/elementwise/code.py with across.py or short_rows.py beside
// it.
#import turned
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number < params.count) { make_tile(tile_at(number), lane); }
}
