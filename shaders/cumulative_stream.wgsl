// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of few long lines in one pass: a workgroup sums a tile and
// scans the one AHEAD tiles before it, which a cache may still hold. What comes before that tile is
// a few short sums of what was published: of tiles in the NEAR blocks up to its own, of blocks, and
// of all before those; always of the same values in the same order. Everything that a workgroup
// waits for comes from lower tickets, which have started.
override WG_SIZE: u32 = 256;
override AHEAD: u32 = 448; // tiles; enough that the sums have arrived when they are wanted
override NEAR: u32 = 1; // at most 5
override AT_ONCE: bool = true; // whole tiles are loaded and stored without a condition each
override FAN: u32 = 32; // tiles of a block, blocks of a superblock; no more than lanes
override PARTS: u32 = NEAR + 3u;
const ROUNDS = 4u;

struct Params {
  tiles: u32, // of a line
  blocks: u32, // whole ones of a line
  line_places: u32,
  places: u32, // of all lines
  all_tiles: u32,
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

var<workgroup> wg_ticket: u32;
var<workgroup> wg_sums: array<Num, 16>; // of each subgroup in the tile that is summed
var<workgroup> wg_totals: array<Num, 16>; // of each subgroup in the tile that is scanned
var<workgroup> wg_before: array<Num, 8>; // parts of what comes before it

struct Tile {
  line: Line,
  origin: u32, // first place of its line
  number: u32, // in its line
}

fn tile_at(number: u32) -> Tile {
  let line = number / params.tiles;
  return Tile(line_at(line), line * params.line_places, number - line * params.tiles);
}

fn is_whole(t: Tile) -> bool {
  return (t.number + 1u) * WG_SIZE * ROUNDS <= params.axis_size / PER_UNIT;
}

// Sum of `count` published values, in lane 0.
fn sum_of(place: u32, count: u32, lanes: Lanes) -> Num {
  var v = identity();
  if (lanes.id < count) { v = wait_for(place + lanes.id); }
  return sum_lanes(v, lanes);
}

// A part of what comes before a tile, the nearest one first: NEAR blocks tile by tile, the further
// blocks of a superblock, those of the superblock before it, and all before that.
fn part_before(t: Tile, part: u32, lanes: Lanes) -> Num {
  let block = t.number / FAN;
  let far = max(block + 1u, NEAR) - NEAR; // blocks that are not near
  let super_ = far / FAN;
  let blocks = t.origin + params.tiles;
  var place = 0u;
  var count = 0u;
  if (part < NEAR) {
    if (part <= block) {
      place = t.origin + (block - part) * FAN;
      count = min(t.number - (block - part) * FAN, FAN);
    }
  } else if (part == NEAR) {
    place = blocks + super_ * FAN;
    count = far - super_ * FAN;
  } else if (part == NEAR + 1u) {
    if (super_ > 0u) {
      place = blocks + (super_ - 1u) * FAN;
      count = FAN;
    }
  } else if (super_ > 1u) {
    place = blocks + params.blocks + super_ - 2u;
    count = 1u;
  }
  return sum_of(place, count, lanes);
}

// Publishes what a tile completes: its block, and all up to the end of its superblock.
fn complete(t: Tile, lanes: Lanes) {
  if (t.number % FAN != FAN - 1u) { return; }
  let block = t.number / FAN;
  let blocks = t.origin + params.tiles;
  let sum = sum_of(t.origin + block * FAN, FAN, lanes);
  if (lanes.id == 0u) { publish(blocks + block, sum); }
  if (block % FAN != FAN - 1u) { return; }
  let super_ = block / FAN;
  let added = sum_of(blocks + super_ * FAN, FAN, lanes);
  if (lanes.id != 0u) { return; }
  let place = blocks + params.blocks + super_;
  var before = identity();
  if (super_ > 0u) { before = wait_for(place - 1u); }
  publish(place, combine(before, added));
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) invocation: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  if (invocation == 0u) { wg_ticket = take_ticket(groups); }
  let ticket = number_of(workgroupUniformLoad(&wg_ticket), invocation, WG_SIZE);
  if (ticket >= params.all_tiles + AHEAD) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let subgroups = WG_SIZE / lane_count;
  let inside = subgroup * lane_count * ROUNDS + lane;

  let sums = ticket < params.all_tiles;
  let ahead = tile_at(select(0u, ticket, sums));
  let ahead_first = ahead.number * WG_SIZE * ROUNDS + inside;
  let ahead_end = select(0u, params.axis_units, sums);
  #repeat 4: var ahead$ = no_values();
  let ahead_whole = AT_ONCE && sums && is_whole(ahead);
  if (ahead_whole) {
    #repeat 4: ahead$ = read_unit(ahead.line.source, ahead_first + $u * lane_count);
  } else {
    #repeat 4: ahead$ = take_round(ahead.line.source, ahead_first + $u * lane_count, ahead_end);
  }
  let scans = ticket >= AHEAD;
  let tile = tile_at(select(0u, ticket - AHEAD, scans));
  let first = tile.number * WG_SIZE * ROUNDS + inside;
  let end = select(0u, params.axis_units, scans);
  let whole = AT_ONCE && scans && is_whole(tile);
  #repeat 4: var held$ = no_values();
  if (whole) {
    #repeat 4: held$ = read_unit(tile.line.source, first + $u * lane_count);
  } else {
    #repeat 4: held$ = take_round(tile.line.source, first + $u * lane_count, end);
  }
  if (SHIFTED || !ahead_whole) {
    #repeat 4: ahead$ = settled(ahead$, ahead.line.source, ahead_first + $u * lane_count);
  }
  if (SHIFTED || !whole) {
    #repeat 4: held$ = settled(held$, tile.line.source, first + $u * lane_count);
  }

  var sum = identity();
  #repeat 4: sum = combine(sum, total(values(ahead$)));
  sum = sum_lanes(sum, lanes);
  if (lane == 0u) { wg_sums[subgroup] = sum; }
  workgroupBarrier();
  if (invocation == 0u && sums) {
    var whole = identity();
    for (var g = 0u; g < subgroups; g++) { whole = combine(whole, wg_sums[g]); }
    publish(ahead.origin + ahead.number, whole);
  }
  if (subgroup == subgroups - 1u && sums) { complete(ahead, lanes); }

  if (scans) {
    for (var part = subgroup; part < PARTS; part += subgroups) {
      let before = part_before(tile, part, lanes);
      if (lane == 0u) { wg_before[part] = before; }
    }
  }
  var run = identity();
  #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
  if (lane == 0u) { wg_totals[subgroup] = run; }
  workgroupBarrier();
  var before = identity();
  for (var part = PARTS; part > 0u; part--) { before = combine(before, wg_before[part - 1u]); }
  for (var g = 0u; g < subgroup; g++) { before = combine(before, wg_totals[g]); }
  if (whole) {
    #repeat 4: write_inside(tile.line.target_, first + $u * lane_count, round$, before);
  } else {
    #repeat 4: write_round(tile.line.target_, first + $u * lane_count, end, round$, before);
  }
}
