// Sums over the invocations of a workgroup: subgroups first. Needs WG_SIZE and `work`.
struct Lane { index: u32, last: bool, subgroup: u32, subgroups: u32 }
struct Sums { before: u32, all: u32 }
var<workgroup> wg_sums: array<u32, WG_SIZE>; // of each subgroup

fn sums_of(lane: Lane, own: u32) -> Sums {
  var sums = Sums(subgroupExclusiveAdd(own), 0u);
  if (lane.last) { wg_sums[lane.subgroup] = sums.before + own; }
  workgroupBarrier();
  for (var k = 0u; k < lane.subgroups; k++) {
    let sum = wg_sums[k];
    sums.before += select(0u, sum, k < lane.subgroup);
    sums.all += sum;
  }
  return sums;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(num_subgroups) subgroups: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) place: u32,
) {
  let lane = Lane(subgroup * size + place, place + 1u == size, subgroup, subgroups);
  work(group.x + group.y * groups.x, lane);
}
