// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: long lines in one pass. A workgroup takes the next tile
// in order, publishes its total, and learns what came before from the tiles ahead of it, all of
// which have started. Totals are always folded in the same order, so timing does not change a bit:
// within a group of LANES tiles lane by lane, and over whole groups strictly left to right.
// WGSL's atomics order nothing but themselves, so every published word carries its own flag.
override WG_SIZE: u32 = 256;
const ROUNDS = 16u;
const LANES = 32u; // tiles of a group; the subgroup has at least as many lanes

struct Params {
  lines: u32,
  line_tiles: u32,
  line_groups: u32,
  axis_units: u32,
  axis_size: u32,
  in_base: u32,
  in_step: u32,
  out_base: u32,
  out_step: u32,
  sizes: array<vec4<u32>, 2>,
  in_strides: array<vec4<u32>, 2>,
  out_strides: array<vec4<u32>, 2>,
}
@group(0) @binding(0) var<uniform> params: Params;
#bind atomic status: u32
#import num
#import fold
#import io
#import lines
#import lanes
#import tile
#import publish

const TOTAL = 1u; // of this tile or group alone
const PREFIX = 2u; // of everything up to and with this group

var<workgroup> wg_ticket: u32;
var<workgroup> wg_before: Num;
var<workgroup> wg_totals: array<Num, 64>; // of each subgroup

// Everything in the groups of tiles before `group`: the latest published prefix, then the totals
// after it, left to right. `base` is the place of the line's first group.
fn groups_before(group: u32, base: u32, lane: u32) -> Num {
  if (group == 0u) { return identity(); }
  loop {
    var seen = Published(PREFIX, identity());
    if (lane < LANES && lane < group) { seen = published(base + group - 1u - lane); }
    let prefixes = subgroupBallot(lane < LANES && seen.flag == PREFIX).x;
    let missing = subgroupBallot(lane < LANES && seen.flag == 0u).x;
    // The nearest prefix counts only when no group nearer than it is still missing.
    let at = countTrailingZeros(prefixes);
    if (prefixes != 0u && countTrailingZeros(missing) > at) {
      var before = subgroupShuffle(seen.value, at);
      for (var k = 1u; k <= at; k++) { before = combine(before, subgroupShuffle(seen.value, at - k)); }
      return before;
    }
  }
  return identity();
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(local_invocation_index) invocation: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  if (invocation == 0u) { wg_ticket = take_ticket(); }
  let ticket = workgroupUniformLoad(&wg_ticket);
  let number = ticket % params.lines;
  let at = ticket / params.lines;
  if (at >= params.line_tiles) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let line = line_at(number);
  let end = params.axis_units;
  let first = at * WG_SIZE * ROUNDS + subgroup * ROUNDS * lane_count + lane;
  #repeat 16: let held$ = take_round(line.source, first + $u * lane_count, end);
  var run = identity();
  #repeat 16: let round$ = add_round(held$, run, lanes); run = round$.after;
  if (lane == 0u) { wg_totals[subgroup] = run; }
  workgroupBarrier();
  var before_in_tile = identity();
  var tile_total = identity();
  for (var g = 0u; g < WG_SIZE / lane_count; g++) {
    if (g == subgroup) { before_in_tile = tile_total; }
    tile_total = combine(tile_total, wg_totals[g]);
  }
  if (subgroup == 0u) {
    // Places: a prefix or total for each group of each line, then a total for each tile.
    let groups = number * params.line_groups;
    let tiles = params.lines * params.line_groups + number * params.line_tiles;
    let in_group = at % LANES;
    let group = at / LANES;
    if (lane == 0u) { publish(tiles + at, TOTAL, tile_total); }
    var mine = identity();
    if (lane < in_group) {
      var seen = published(tiles + group * LANES + lane);
      while (seen.flag == 0u) { seen = published(tiles + group * LANES + lane); }
      mine = seen.value;
    } else if (lane == in_group) {
      mine = tile_total;
    }
    let sums = across_lanes(mine, lane, lanes);
    let group_total = subgroupShuffle(sums, LANES - 1u);
    let before_in_group = subgroupShuffle(lanes_before(sums, lane), in_group);
    if (in_group == LANES - 1u && lane == 0u) { publish(groups + group, TOTAL, group_total); }
    let before = groups_before(group, groups, lane);
    if (in_group == LANES - 1u && lane == 0u) {
      publish(groups + group, PREFIX, combine(before, group_total));
    }
    if (lane == 0u) { wg_before = combine(before, before_in_group); }
  }
  workgroupBarrier();
  let start = combine(wg_before, before_in_tile);
  #repeat 16: write_round(line.target_, first + $u * lane_count, end, round$, start);
}
