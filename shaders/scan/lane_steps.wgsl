// Steps across the lanes of subgroups of any size.
fn lanes_in(subgroup_size: u32) -> u32 { return subgroup_size; }

// Sum of the lanes up to and with this one; `place` is how many of them there are before it.
fn across_lanes(v: Num, place: u32, lanes: Lanes) -> Num {
  var sum = v;
  for (var d = 1u; d < lanes.size; d = d << 1u) {
    let other = subgroupShuffleUp(sum, d);
    if (place >= d) { sum = combine(other, sum); }
  }
  return sum;
}

// Sum of all lanes, in lane 0 (other lanes hold sums of their successors).
fn sum_lanes(v: Num, lanes: Lanes) -> Num {
  var sum = v;
  for (var d = 1u; d < lanes.size; d = d << 1u) { sum = combine(sum, subgroupShuffleDown(sum, d)); }
  return sum;
}
