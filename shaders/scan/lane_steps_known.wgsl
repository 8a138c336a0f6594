// Steps across the lanes of subgroups that all have LANES, written out; see lane_steps.wgsl.
override LANES: u32 = 32;

fn lanes_in(subgroup_size: u32) -> u32 { return LANES; }

fn across_lanes(v: Num, place: u32, lanes: Lanes) -> Num {
  var sum = v;
  #repeat 7: if (LANES >> $u > 1u) { let other = subgroupShuffleUp(sum, 1u << $u); if (place >> $u > 0u) { sum = combine(other, sum); } }
  return sum;
}

fn sum_lanes(v: Num, lanes: Lanes) -> Num {
  var sum = v;
  #repeat 7: if (LANES >> $u > 1u) { sum = combine(sum, subgroupShuffleDown(sum, 1u << $u)); }
  return sum;
}
