// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of few lines in one pass: a workgroup sums a tile and scans
// the one AHEAD tiles before it, which a cache may still hold; of short lines the same one, which it
// keeps in registers. What comes before that tile is a few short sums of what was published: of tiles
// of its own block, of blocks, and of all before those; always the same values in the same order.
// Everything that a workgroup waits for comes from lower tickets, which have started, or is its own,
// and it does not wait for ever: it computes by itself what does not arrive. So it must not run in
// place.
override WG_SIZE: u32 = 256;
override AHEAD: u32 = 640; // tiles: none, or enough that sums have arrived when they are wanted
override FAN: u32 = 32; // tiles of a block, blocks of a superblock; no more than lanes
const PARTS = 4u; // of what comes before a tile

#param tiles: u32 // of a line
#param blocks: u32 // whole ones of a line
#param line_places: u32
#param all_tiles: u32
#import num
#import fold
#import io
#import lines
#import lanes
#import tile
#import tile_sum
#import publish

var<workgroup> wg_ticket: u32;
var<workgroup> wg_totals: array<Num, 64>; // of each subgroup in the tile that is scanned
var<workgroup> wg_before: array<Num, 8>; // parts of what comes before it
var<workgroup> wg_tiles: array<Num, 32>; // sums of the tiles of a block, for catch_up
var<workgroup> wg_blocks: array<Num, 32>; // sums of the blocks of a superblock

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
fn sum_published(place: u32, count: u32, lanes: Lanes) -> Published {
  var seen = Published(true, identity());
  if (lanes.id < count) { seen = wait_for(place + lanes.id); }
  return Published(!subgroupAny(!seen.here), sum_lanes(seen.value, lanes));
}

// Whole blocks before a tile that are not near.
fn far_blocks(tile: u32) -> u32 { return tile / FAN; }

// A part of what comes before a tile, the nearest one first: its own block tile by tile, the further
// blocks of a superblock, those of the superblock before it, and all before that.
fn part_before(t: Tile, part: u32, lanes: Lanes) -> Published {
  let block = t.number / FAN;
  let far = far_blocks(t.number);
  let super_ = far / FAN;
  let blocks = t.origin + params.tiles;
  var place = 0u;
  var count = 0u;
  if (part == 0u) {
    if (part <= block) {
      place = t.origin + (block - part) * FAN;
      count = min(t.number - (block - part) * FAN, FAN);
    }
  } else if (part == 1u) {
    place = blocks + super_ * FAN;
    count = far - super_ * FAN;
  } else if (part == 2u) {
    if (super_ > 0u) {
      place = blocks + (super_ - 1u) * FAN;
      count = FAN;
    }
  } else if (super_ > 1u) {
    place = blocks + params.blocks + super_ - 2u;
    count = 1u;
  }
  return sum_published(place, count, lanes);
}

// All parts, in wg_before, a subgroup each; false for a subgroup to which something was late.
fn parts_before(t: Tile, lanes: Lanes) -> bool {
  var here = true;
  for (var part = lanes.group; part < PARTS; part += WG_SIZE / lanes.size) {
    let before = part_before(t, part, lanes);
    if (lanes.id == 0u) { wg_before[part] = before.value; }
    here = here && before.here;
  }
  return here;
}

// Publishes what a tile completes: its block, and all up to the end of its superblock; not where
// something that this takes was late. For one subgroup.
fn complete(t: Tile, lanes: Lanes) {
  if (t.number % FAN != FAN - 1u) { return; }
  let block = t.number / FAN;
  let blocks = t.origin + params.tiles;
  let sum = sum_published(t.origin + block * FAN, FAN, lanes);
  if (sum.here && lanes.id == 0u) { publish(blocks + block, sum.value); }
  if (!sum.here || block % FAN != FAN - 1u) { return; }
  let super_ = block / FAN;
  let added = sum_published(blocks + super_ * FAN, FAN, lanes);
  let place = blocks + params.blocks + super_;
  let before = sum_published(place - 1u, select(0u, 1u, super_ > 0u), lanes);
  if (added.here && before.here && lanes.id == 0u) {
    publish(place, combine(before.value, added.value));
  }
}

// Publishes every sum that tiles below `end` make, from the latest superblock on before which all is
// known: tile by tile, each looked for once more and computed from the input where it is missing.
// For the whole workgroup, when something was late.
fn catch_up(t: Tile, end: u32, lanes: Lanes, invocation: u32) {
  let blocks = t.origin + params.tiles;
  let supers = blocks + params.blocks;
  var start = max(far_blocks(t.number) / FAN, 1u) - 1u;
  var before = Published(false, identity());
  while (start > 0u) {
    before = look_together(supers + start - 1u, invocation);
    if (before.here) { break; }
    start--;
  }
  if (start == 0u) { before.value = identity(); }
  for (var tile = start * FAN * FAN; tile < end; tile++) {
    var seen = look_together(t.origin + tile, invocation);
    if (!seen.here) { seen.value = sum_of_tile(t.line, tile, lanes); }
    if (invocation == 0u) {
      publish(t.origin + tile, seen.value);
      wg_tiles[tile % FAN] = seen.value;
    }
    if (tile % FAN != FAN - 1u) { continue; }
    workgroupBarrier();
    let block = tile / FAN;
    var v = identity();
    if (lanes.id < FAN) { v = wg_tiles[lanes.id]; }
    let sum = sum_lanes(v, lanes);
    if (invocation == 0u) {
      publish(blocks + block, sum);
      wg_blocks[block % FAN] = sum;
    }
    workgroupBarrier();
    if (block % FAN != FAN - 1u) { continue; }
    v = identity();
    if (lanes.id < FAN) { v = wg_blocks[lanes.id]; }
    before.value = combine(before.value, sum_lanes(v, lanes));
    if (invocation == 0u) { publish(supers + block / FAN, before.value); }
    workgroupBarrier();
  }
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) index: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) subgroup_size: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let lane_count = lanes_in(subgroup_size);
  if (index == 0u) { wg_ticket = take_ticket(groups); }
  let ticket = number_of(workgroupUniformLoad(&wg_ticket), index, WG_SIZE);
  if (ticket >= params.all_tiles + AHEAD) { return; }
  let lanes = Lanes(lane, lane_count, subgroup);
  let invocation = subgroup * lane_count + lane;
  let subgroups = WG_SIZE / lane_count;

  let sums = ticket < params.all_tiles;
  let ahead = tile_at(select(0u, ticket, sums));
  let ahead_first = first_unit(ahead.number, lanes);
  let ahead_end = select(0u, params.axis_units, sums);
  #repeat 4: var ahead_raw$ = no_raw();
  let ahead_whole = sums && is_whole(ahead);
  if (ahead_whole) {
    #repeat 4: ahead_raw$ = read_unit(ahead.line, ahead_first + $u * lane_count);
  } else {
    #repeat 4: ahead_raw$ = take_round(ahead.line, ahead_first + $u * lane_count, ahead_end);
  }
  let scans = ticket >= AHEAD;
  let tile = tile_at(select(0u, ticket - AHEAD, scans));
  let first = first_unit(tile.number, lanes);
  let end = select(0u, params.axis_units, scans);
  let whole = scans && is_whole(tile);
  #repeat 4: var raw$ = ahead_raw$;
  if (AHEAD > 0u) {
    if (whole) {
      #repeat 4: raw$ = read_unit(tile.line, first + $u * lane_count);
    } else {
      #repeat 4: raw$ = take_round(tile.line, first + $u * lane_count, end);
    }
  }
  #repeat 4: var ahead$ = settled_whole(ahead_raw$, ahead.line);
  if (SHIFTED || !ahead_whole) {
    #repeat 4: ahead$ = settled(ahead_raw$, ahead.line, ahead_first + $u * lane_count);
  }
  #repeat 4: var held$ = settled_whole(raw$, tile.line);
  if (SHIFTED || !whole) {
    #repeat 4: held$ = settled(raw$, tile.line, first + $u * lane_count);
  }

  add_up(ahead0, ahead1, ahead2, ahead3, lanes);
  if (sums) {
    if (invocation == 0u) { publish(ahead.origin + ahead.number, sum_of_subgroups(subgroups)); }
    if (subgroup == subgroups - 1u) { complete(ahead, lanes); }
  }
  if (scans && !parts_before(tile, lanes)) { note_late(); }
  var run = identity();
  #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
  if (lane == 0u) { wg_totals[subgroup] = run; }
  if (anyone_late()) {
    // What its own block lacks, those who need the block compute.
    if (!scans) { return; }
    catch_up(tile, tile.number, lanes, invocation);
    storageBarrier(); // all invocations see what one of them published or saw
    caught_up = true;
    parts_before(tile, lanes);
    workgroupBarrier();
    // The tile is read again, so that no register holds it while others are caught up with: the
    // usual way below would pay for those registers.
    let start = before_subgroup(subgroup);
    run = identity();
    #repeat 4: let late$ = take_round(tile.line, first + $u * lane_count, end);
    #repeat 4: let again$ = add_round(settled(late$, tile.line, first + $u * lane_count), run, lanes); run = again$.after;
    #repeat 4: write_round(tile.line.target_, first + $u * lane_count, end, again$, start);
    return;
  }
  let before = before_subgroup(subgroup);
  if (whole) {
    #repeat 4: write_inside(tile.line.target_, first + $u * lane_count, round$, before);
  } else {
    #repeat 4: write_round(tile.line.target_, first + $u * lane_count, end, round$, before);
  }
}

// What comes before a subgroup's part of the tile, once all of it is in workgroup memory.
fn before_subgroup(subgroup: u32) -> Num {
  var before = identity();
  #repeat 4: before = combine(before, wg_before[PARTS - 1u - $u]);
  #repeat 8: before = select(before, combine(before, wg_totals[$u]), $u < subgroup);
  for (var g = 8u; g < subgroup; g++) { before = combine(before, wg_totals[g]); }
  return before;
}
