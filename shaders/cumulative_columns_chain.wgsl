// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along a long outer axis with too few lines to fill a GPU:
// a workgroup takes the next tile of COLUMNS units by ROWS * STEPS steps, keeps it in registers,
// waits for what is above it, and writes. It publishes the running values below it, or where tiles
// are added up in blocks, its own sums before it waits, and the running values below each block;
// always the same sums in the same order. Tickets go across before they go down, and every tile
// waits only for tiles that have started.
override WG_SIZE: u32 = 256;
override ROWS: u32 = WG_SIZE / COLUMNS;
override STEPS: u32 = 16; // of one invocation; at most 28
override BLOCK: u32 = 16; // tiles down
override EXCLUSIVE: bool = false;
const COLUMNS = 8u;

struct Params {
  columns: u32, // units
  tiles_across: u32,
  tiles_down: u32,
  places: u32,
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
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#bind atomic status: u32
#import num
#import fold
#import lines
#import lift
#import publish

var<workgroup> wg_ticket: u32;
var<workgroup> wg_totals: array<array<Nums, COLUMNS>, 32>; // of each subgroup
var<workgroup> wg_flow: array<Num, 64>; // of each line: the sum of the tile, then what is above it
var<workgroup> wg_shares: array<Num, WG_SIZE>; // of what is above in the block

// Writes one step of a column and returns the running values behind it.
fn step_down(at: u32, sum: Nums, unit: vec4<u32>) -> Nums {
  let next = side_by_side(sum, unpack(unit));
  if (EXCLUSIVE) { store_output(at, pack(sum)); } else { store_output(at, pack(next)); }
  return next;
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
  let down = ticket / params.tiles_across;
  let across = ticket - down * params.tiles_across;
  if (down >= params.tiles_down) { return; }
  // Lanes are numbered along a row, then down, as invocations are.
  let x = lane % COLUMNS;
  let y = (subgroup * lane_count + lane) / COLUMNS;
  let column = across * COLUMNS + x;
  let inside = column < params.columns;
  let line = line_at(min(column, params.columns - 1u)); // addresses and strides are in units
  let first = (down * ROWS + y) * STEPS;
  let source = line.source + first * params.in_step;
  let left = select(0u, params.axis_size - min(first, params.axis_size), inside);
  let whole = left >= STEPS; // loaded and stored without a condition each
  #repeat 28: var unit$ = pack(identities());
  if (whole) {
    #repeat 28: if (STEPS > $u) { unit$ = load_input(source + $u * params.in_step); }
  } else {
    #repeat 28: if (STEPS > $u && left > $u) { unit$ = load_input(source + $u * params.in_step); }
  }
  var sum = identities();
  #repeat 28: if (STEPS > $u) { sum = side_by_side(sum, unpack(unit$)); }
  // Rows of one subgroup are joined lane by lane, subgroups through workgroup memory.
  var joined = sum;
  for (var d = COLUMNS; d < lane_count; d = d << 1u) {
    let other = lifted(joined, d);
    if (lane >= d) { joined = side_by_side(other, joined); }
  }
  let above_lane = lifted(joined, COLUMNS);
  if (lane >= lane_count - COLUMNS) { wg_totals[subgroup][x] = joined; }
  workgroupBarrier();
  var before = identities();
  for (var g = 0u; g < subgroup; g++) { before = side_by_side(before, wg_totals[g][x]); }
  if (lane >= COLUMNS) { before = side_by_side(before, above_lane); }
  if (y == ROWS - 1u) {
    let below = to_array(side_by_side(before, sum));
    for (var j = 0u; j < PER_UNIT; j++) { wg_flow[x * PER_UNIT + j] = below[j]; }
  }
  workgroupBarrier();
  // Some invocations per line: what is below goes out, what is above in the block comes in.
  let row = COLUMNS * PER_UNIT;
  let next = params.tiles_across * row; // places from a tile to the one below, or block to block
  let place = across * row + invocation % row;
  let block = down / BLOCK;
  var blocks = place;
  if (BLOCK > 1u) {
    blocks += params.tiles_down * next;
    if (invocation < row) { publish(place + down * next, wg_flow[invocation]); }
    var share = identity();
    for (var tile = block * BLOCK + invocation / row; tile < down; tile += WG_SIZE / row) {
      share = combine(share, wait_for(place + tile * next));
    }
    wg_shares[invocation] = share;
    workgroupBarrier();
  }
  if (invocation < row) {
    var above = identity();
    if (block > 0u) { above = wait_for(blocks + (block - 1u) * next); }
    if (BLOCK > 1u) {
      for (var i = invocation; i < WG_SIZE; i += row) { above = combine(above, wg_shares[i]); }
    }
    if (down % BLOCK == BLOCK - 1u) {
      publish(blocks + block * next, combine(above, wg_flow[invocation]));
    }
    wg_flow[invocation] = above;
  }
  workgroupBarrier();
  var above = to_array(identities());
  for (var j = 0u; j < PER_UNIT; j++) { above[j] = wg_flow[x * PER_UNIT + j]; }
  sum = side_by_side(from_array(above), before);
  let at = line.target_ + first * params.out_step;
  if (whole) {
    #repeat 28: if (STEPS > $u) { sum = step_down(at + $u * params.out_step, sum, unit$); }
  } else {
    #repeat 28: if (STEPS > $u && left > $u) { sum = step_down(at + $u * params.out_step, sum, unit$); }
  }
}
