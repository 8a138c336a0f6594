// Scans across the lanes of a subgroup, always associated the same way. Needs num and fold.
struct Lanes {
  id: u32,
  size: u32,
  group: u32, // number of the subgroup in its workgroup
}

// Sum of the lanes up to and with this one; `place` is how many of them there are before it.
fn across_lanes(v: Num, place: u32, lanes: Lanes) -> Num {
  var sum = v;
  for (var d = 1u; d < lanes.size; d = d << 1u) {
    let other = subgroupShuffleUp(sum, d);
    if (place >= d) { sum = combine(other, sum); }
  }
  return sum;
}

// The lanes before this one, from what across_lanes gave.
fn lanes_before(sum: Num, place: u32) -> Num {
  let other = subgroupShuffleUp(sum, 1u);
  if (place == 0u) { return identity(); }
  return other;
}

// Sum of all lanes, in lane 0 (other lanes hold sums of their successors).
fn sum_lanes(v: Num, lanes: Lanes) -> Num {
  var sum = v;
  for (var d = 1u; d < lanes.size; d = d << 1u) { sum = combine(sum, subgroupShuffleDown(sum, d)); }
  return sum;
}
