// The sum of a tile of a line, by a whole workgroup: ROUNDS units of each lane, one subgroup after the
// other. A workgroup that stands in for another one adds up the same values in the same order.
// Needs num, fold, io, lines, lanes, tile and WG_SIZE.
#param axis_units: u32
const ROUNDS = 4u;
var<workgroup> wg_sums: array<Num, 64>; // of each subgroup

// The first of the units that a lane holds; the next ones follow at a distance of lanes.size.
fn first_unit(tile: u32, lanes: Lanes) -> u32 {
  return (tile * WG_SIZE + lanes.group * lanes.size) * ROUNDS + lanes.id;
}

// The sum of each subgroup's units. Ends with a barrier.
fn add_up(held0: Held, held1: Held, held2: Held, held3: Held, lanes: Lanes) {
  var sum = identity();
  #repeat 4: sum = combine(sum, total(values(held$)));
  sum = sum_lanes(sum, lanes);
  if (lanes.id == 0u) { wg_sums[lanes.group] = sum; }
  workgroupBarrier();
}

// The sum of the first `subgroups` ones, after add_up.
fn sum_of_subgroups(subgroups: u32) -> Num {
  var sum = identity();
  #repeat 8: sum = select(sum, combine(sum, wg_sums[$u]), $u < subgroups);
  for (var g = 8u; g < subgroups; g++) { sum = combine(sum, wg_sums[g]); }
  return sum;
}

// The sum of a tile that belongs to another workgroup, which has not published it in time.
fn sum_of_tile(line: Line, tile: u32, lanes: Lanes) -> Num {
  let first = first_unit(tile, lanes);
  #repeat 4: let raw$ = take_round(line, first + $u * lanes.size, params.axis_units);
  #repeat 4: let held$ = settled(raw$, line, first + $u * lanes.size);
  workgroupBarrier(); // nobody reads older sums any more
  add_up(held0, held1, held2, held3, lanes);
  return sum_of_subgroups(WG_SIZE / lanes.size);
}
