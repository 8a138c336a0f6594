// NONZERO_COORDINATES, first half: how many elements of each block are not zero.
#import elements
#bind write blocks: u32
var<workgroup> total: atomic<u32>;

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  if (lane == 0u) { atomicStore(&total, 0u); }
  workgroupBarrier();
  let found = found_from((number * WG_SIZE + lane) * PER_LANE);
  if (found != 0u) { atomicAdd(&total, countOneBits(found)); }
  workgroupBarrier();
  if (lane == 0u && number * WG_SIZE * PER_LANE < params.count) {
    store_blocks(number, atomicLoad(&total));
  }
}
