// Scans across the lanes of a subgroup, always associated the same way. Needs num and fold.
struct Lanes {
  id: u32,
  size: u32,
  group: u32, // number of the subgroup in its workgroup
}
#import lane_steps

// The lanes before this one, from what across_lanes gave.
fn lanes_before(sum: Num, place: u32) -> Num {
  let other = subgroupShuffleUp(sum, 1u);
  if (place == 0u) { return identity(); }
  return other;
}
