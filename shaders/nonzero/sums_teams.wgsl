// Sums over the invocations of a workgroup: teams of 16 first. Needs WG_SIZE and `work`.
#import invocation/in_workgroup
struct Lane { index: u32 }
struct Sums { before: u32, all: u32 }
const TEAM = 16u;
var<workgroup> wg_sums: array<u32, WG_SIZE>;

fn sums_of(lane: Lane, own: u32) -> Sums {
  let team = lane.index / TEAM;
  wg_sums[lane.index] = own;
  workgroupBarrier();
  var sums = Sums(0u, 0u);
  for (var k = team * TEAM; k < lane.index; k++) { sums.before += wg_sums[k]; }
  workgroupBarrier();
  if (lane.index % TEAM == TEAM - 1u) { wg_sums[team] = sums.before + own; }
  workgroupBarrier();
  for (var k = 0u; k < WG_SIZE / TEAM; k++) {
    let sum = wg_sums[k];
    sums.before += select(0u, sum, k < team);
    sums.all += sum;
  }
  return sums;
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) { work(group_of(me), Lane(me.lane)); }
