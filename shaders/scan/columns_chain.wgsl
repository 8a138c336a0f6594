// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along a long outer axis with too few lines to fill a GPU:
// a workgroup takes the next tile of COLUMNS units by ROWS * STEPS steps, keeps it in registers,
// waits for what is above it, and writes. It publishes the running values below it, or where tiles
// are added up in blocks, its own sums before it waits, and the running values below each block;
// always the same sums in the same order. Tickets go across before they go down, so every tile waits
// only for tiles that have started, and it does not wait for ever: it computes by itself what does
// not arrive. So it must not run in place.
override WG_SIZE: u32 = 256;
override COLUMNS: u32 = 8; // units across a tile, no more than lanes of a subgroup; in frames two are others'
override ROWS: u32 = WG_SIZE / COLUMNS;
override STEPS: u32 = 16; // of one invocation; at most 28
override BLOCK: u32 = 16; // tiles down
override LINES: u32 = COLUMNS * PER_UNIT; // of a tile
override TOTALS: u32 = 32; // units of all subgroups, COLUMNS of each

#param columns: u32
#param tiles_across: u32
#param tiles_down: u32
#import num
#import fold
#import lines
#import columns
#import step_down
#import lift
#import publish

var<workgroup> wg_ticket: u32;
var<workgroup> wg_totals: array<Nums, TOTALS>; // of each subgroup
var<workgroup> wg_flow: array<Num, LINES>; // of each line: the sum of a tile, then what is above it
var<workgroup> wg_shares: array<Num, WG_SIZE>; // of what is above in the block

// Where an invocation is. Lanes are numbered along a row of the tile, then down.
struct Spot {
  index: u32, // in the workgroup, by subgroups
  lane: u32,
  lane_count: u32,
  subgroup: u32,
  x: u32, // column of the tile
  y: u32, // row of the tile
}

// The steps of one invocation in one tile.
struct Stretch {
  columns: Columns,
  source: Address,
  target_: Address,
  left: u32, // steps to the end of the axis; 0 beside the last column
}

fn stretch_of(spot: Spot, across: u32, down: u32) -> Stretch {
  let columns = columns_at(across * COLUMNS, spot.x, COLUMNS);
  let first = (down * ROWS + spot.y) * STEPS;
  let left = select(0u, params.axis_size - min(first, params.axis_size), columns.here);
  let source = columns.source + first * params.in_step;
  return Stretch(columns, source, columns.target_ + first * params.out_step, left);
}

// From the sum of each stretch, what is above it in the tile, and in wg_flow the sums of the tile.
// Ends with a barrier.
fn join_rows(sum: Nums, spot: Spot) -> Nums {
  // Rows of one subgroup are joined lane by lane, subgroups through workgroup memory.
  var joined = sum;
  for (var d = COLUMNS; d < spot.lane_count; d = d << 1u) {
    let other = lifted(joined, d);
    if (spot.lane >= d) { joined = side_by_side(other, joined); }
  }
  let above_lane = lifted(joined, COLUMNS);
  if (spot.lane >= spot.lane_count - COLUMNS) { wg_totals[spot.subgroup * COLUMNS + spot.x] = joined; }
  workgroupBarrier();
  var before = identities();
  for (var g = 0u; g < spot.subgroup; g++) { before = side_by_side(before, wg_totals[g * COLUMNS + spot.x]); }
  if (spot.lane >= COLUMNS) { before = side_by_side(before, above_lane); }
  if (spot.y == ROWS - 1u) {
    let below = to_array(side_by_side(before, sum));
    for (var j = 0u; j < PER_UNIT; j++) { wg_flow[spot.x * PER_UNIT + j] = below[j]; }
  }
  workgroupBarrier();
  return before;
}

// The sum of a tile that belongs to another workgroup, of one line for each invocation: the same
// values in the same order as its owner adds them up. In a loop, so that it takes few registers.
fn sum_of_tile(spot: Spot, across: u32, down: u32) -> Num {
  let stretch = stretch_of(spot, across, down);
  var sum = identities();
  for (var step = 0u; step < STEPS; step++) {
    var unit = pack(identities()); // behind the end of the axis
    let at = stretch.source + step * params.in_step;
    if (step < stretch.left) { unit = load_columns(at, stretch.columns); }
    sum = side_by_side(sum, unpack(settled(unit, at)));
  }
  workgroupBarrier(); // nobody reads older sums any more
  join_rows(sum, spot);
  return wg_flow[spot.index % LINES];
}

// What is above a tile from what is above its block, with the shares in wg_shares.
fn with_shares(above_block: Num, line: u32) -> Num {
  var above = above_block;
  if (BLOCK > 1u) {
    for (var i = line; i < WG_SIZE; i += LINES) { above = combine(above, wg_shares[i]); }
  }
  return above;
}

// What is above a tile when some of it is late, of one line for each invocation: everything from the
// latest block on above which all is known is computed from the input, and published.
fn above_computed(spot: Spot, columns: Columns, across: u32, down: u32, place: u32, blocks: u32, next: u32) -> Num {
  let line = spot.index % LINES;
  var known = down / BLOCK; // blocks above which all is known
  var above = identity();
  while (known > 0u) {
    let seen = published(blocks + (known - 1u) * next);
    above = seen.value;
    if (spot.index == 0u) { atomicStore(&wg_late, 0u); }
    workgroupBarrier();
    if (!seen.here || LOOKS == 0u) { note_late(); }
    if (!anyone_late()) { break; }
    known--;
  }
  if (known == 0u) { above = beginning(columns, line); }
  var share = identity();
  for (var tile = known * BLOCK; tile < down; tile++) {
    let sum = sum_of_tile(spot, across, tile);
    if (BLOCK > 1u && spot.index < LINES) { publish(place + tile * next, sum); }
    if (tile % BLOCK < BLOCK - 1u) {
      if (tile % BLOCK % (WG_SIZE / LINES) == spot.index / LINES) { share = combine(share, sum); }
      continue;
    }
    wg_shares[spot.index] = share;
    workgroupBarrier();
    above = combine(with_shares(above, line), sum);
    if (spot.index < LINES) { publish(blocks + tile / BLOCK * next, above); }
    share = identity();
    workgroupBarrier();
  }
  wg_shares[spot.index] = share;
  workgroupBarrier();
  return with_shares(above, line);
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) number: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  if (number == 0u) { wg_ticket = take_ticket(groups); }
  let ticket = number_of(workgroupUniformLoad(&wg_ticket), number, WG_SIZE);
  let down = ticket / params.tiles_across;
  let across = ticket - down * params.tiles_across;
  if (down >= params.tiles_down) { return; }
  let index = subgroup * lane_count + lane;
  let spot = Spot(index, lane, lane_count, subgroup, index % COLUMNS, index / COLUMNS);
  let stretch = stretch_of(spot, across, down);
  let source = stretch.source;
  let left = stretch.left;
  let whole = left >= STEPS; // loaded and stored without a condition each
  #repeat 28: var unit$ = pack(identities());
  if (whole) {
    #repeat 28: if (STEPS > $u) { unit$ = load_columns(source + $u * params.in_step, stretch.columns); }
  } else {
    #repeat 28: if (STEPS > $u && left > $u) { unit$ = load_columns(source + $u * params.in_step, stretch.columns); }
  }
  #repeat 28: if (STEPS > $u) { unit$ = settled(unit$, source + $u * params.in_step); }
  var sum = identities();
  #repeat 28: if (STEPS > $u) { sum = side_by_side(sum, unpack(unit$)); }
  let before = join_rows(sum, spot);
  // Some invocations per line: what is below goes out, what is above in the block comes in.
  let next = params.tiles_across * LINES; // places from a tile to the one below, or block to block
  let place = across * LINES + index % LINES;
  let block = down / BLOCK;
  let closes = down % BLOCK == BLOCK - 1u; // the last tile of its block
  var blocks = place;
  var own = identity(); // sum of the tile
  if (index < LINES) { own = wg_flow[index]; }
  if (BLOCK > 1u) {
    blocks += params.tiles_down * next;
    if (index < LINES) { publish(place + down * next, own); }
    var share = identity();
    var here = true;
    for (var tile = block * BLOCK + index / LINES; tile < down && here; tile += WG_SIZE / LINES) {
      let seen = wait_for(place + tile * next);
      share = combine(share, seen.value);
      here = seen.here;
    }
    if (!here) { note_late(); }
    wg_shares[index] = share;
    workgroupBarrier();
  }
  if (index < LINES) {
    var seen = Published(true, beginning(stretch.columns, index));
    if (block > 0u) { seen = wait_for(blocks + (block - 1u) * next); }
    if (!seen.here) { note_late(); }
    let above = with_shares(seen.value, index);
    // The shares have been seen in time, unless it is noted by now.
    if (closes && seen.here && atomicLoad(&wg_late) == 0u) {
      publish(blocks + block * next, combine(above, own));
    }
    wg_flow[index] = above;
  }
  if (anyone_late()) {
    let above = above_computed(spot, stretch.columns, across, down, place, blocks, next);
    if (index < LINES) {
      if (closes) { publish(blocks + block * next, combine(above, own)); }
      wg_flow[index] = above;
    }
    workgroupBarrier();
  }
  var above = to_array(identities());
  for (var j = 0u; j < PER_UNIT; j++) { above[j] = wg_flow[spot.x * PER_UNIT + j]; }
  sum = side_by_side(from_array(above), before);
  let at = stretch.target_;
  #repeat 28: if (STEPS > $u) { let next = side_by_side(sum, unpack(unit$)); unit$ = framed(pack(shown(sum, next)), at + $u * params.out_step); sum = next; }
  if (whole) {
    #repeat 28: if (STEPS > $u) { store_columns(at + $u * params.out_step, stretch.columns, unit$); }
  } else {
    #repeat 28: if (STEPS > $u && left > $u) { store_columns(at + $u * params.out_step, stretch.columns, unit$); }
  }
}
