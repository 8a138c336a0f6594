// Moves a tile of elements through workgroup memory: read in the order of the source, written in the
// order of the output, so that both are walked along neighbouring addresses whatever the layouts.
// dmlgpu/plan/tile.py writes the tile: `Tile`, `tile_at`, `take_in` and `put_out`.
#param out_base: u32
#param counts: array<vec4<u32>, 2> // tiles along each loop
#import loops
#import output
#bind read input: u32
override WG_SIZE: u32 = 256;

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
  put_out(tile, lane);
}

// Two words of halves, or four of bytes, with their rows made columns.
fn turned16(v: vec2<u32>) -> vec2<u32> {
  return vec2<u32>((v.x & 0xffffu) | (v.y << 16u), (v.x >> 16u) | (v.y & 0xffff0000u));
}

fn turned8(v: vec4<u32>) -> vec4<u32> {
  let even = (v.xz & vec2<u32>(0x00ff00ffu)) | ((v.yw & vec2<u32>(0x00ff00ffu)) << vec2<u32>(8u));
  let odd = ((v.xz >> vec2<u32>(8u)) & vec2<u32>(0x00ff00ffu)) | (v.yw & vec2<u32>(0xff00ff00u));
  let a = turned16(even);
  let b = turned16(odd);
  return vec4<u32>(a.x, b.x, a.y, b.y);
}
