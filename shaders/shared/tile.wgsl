// A workgroup's tile of one line, kept in registers between reading and writing: each subgroup
// owns a contiguous run of ROUNDS * subgroup_size units. Needs num, fold, io, ROUNDS, WG_SIZE.
override EXCLUSIVE: bool = false;

var<workgroup> wg_totals: array<Num, WG_SIZE>; // of each subgroup

struct Tile {
  held: array<Held, ROUNDS>,
  before: array<Num, ROUNDS>, // everything in the subgroup's run before this lane's unit
  total: Num, // of the subgroup's run
}

struct Lanes {
  id: u32,
  size: u32,
  group: u32, // number of the subgroup
}

// Sum of the lanes up to and with this one, always associated the same way.
fn across_lanes(v: Num, lanes: Lanes) -> Num {
  var sum = v;
  for (var d = 1u; d < lanes.size; d = d << 1u) {
    let other = subgroupShuffleUp(sum, d);
    if (lanes.id >= d) { sum = combine(other, sum); }
  }
  return sum;
}

// The lanes before this one, from what across_lanes gave.
fn lanes_before(sum: Num, lanes: Lanes) -> Num {
  let other = subgroupShuffleUp(sum, 1u);
  if (lanes.id == 0u) { return identity(); }
  return other;
}

fn unit_of(first: u32, k: u32, lanes: Lanes) -> u32 {
  return first + (lanes.group * ROUNDS + k) * lanes.size + lanes.id;
}

fn read_tile(source: u32, first: u32, end: u32, lanes: Lanes) -> Tile {
  var tile: Tile;
  for (var k = 0u; k < ROUNDS; k++) {
    let p = unit_of(first, k, lanes);
    tile.held[k] = no_values();
    if (p < end) { tile.held[k] = read_unit(source, p); }
  }
  var run = identity();
  for (var k = 0u; k < ROUNDS; k++) {
    let n = values(tile.held[k]);
    var total = n[0];
    for (var j = 1u; j < PER_UNIT; j++) { total = combine(total, n[j]); }
    let sum = across_lanes(total, lanes);
    tile.before[k] = combine(run, lanes_before(sum, lanes));
    run = combine(run, subgroupShuffle(sum, lanes.size - 1u));
  }
  tile.total = run;
  return tile;
}

// The runs before this subgroup's, and of the whole tile; every invocation must come here.
fn join_tile(total: Num, lanes: Lanes) -> array<Num, 2> {
  workgroupBarrier();
  if (lanes.id == 0u) { wg_totals[lanes.group] = total; }
  workgroupBarrier();
  var before = identity();
  var all = identity();
  for (var g = 0u; g < WG_SIZE / lanes.size; g++) {
    if (g == lanes.group) { before = all; }
    all = combine(all, wg_totals[g]);
  }
  return array<Num, 2>(before, all);
}

fn write_tile(target_: u32, first: u32, end: u32, tile: Tile, start: Num, lanes: Lanes) {
  for (var k = 0u; k < ROUNDS; k++) {
    let p = unit_of(first, k, lanes);
    if (p < end) {
      var n = values(tile.held[k]);
      var total = combine(start, tile.before[k]);
      for (var j = 0u; j < PER_UNIT; j++) {
        let next = combine(total, n[j]);
        n[j] = next;
        if (EXCLUSIVE) { n[j] = total; }
        total = next;
      }
      write_unit(target_, p, n);
    }
  }
}
