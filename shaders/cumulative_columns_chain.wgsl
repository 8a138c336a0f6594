// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along a long outer axis with too few lines to fill a GPU:
// a workgroup takes the next tile of COLUMNS units by ROWS * STEPS steps, keeps it in registers,
// waits for the running values above it, and writes. Tickets go across before they go down, and
// every tile waits only for one that has started.
override WG_SIZE: u32 = 256;
override ROWS: u32 = WG_SIZE / COLUMNS;
override STEPS: u32 = 16; // of one invocation; at most 28
override AT_ONCE: bool = false; // whole tiles are loaded and stored without a condition each
override EXCLUSIVE: bool = false;
const COLUMNS = 8u;

struct Params {
  columns: u32, // units
  tiles_across: u32,
  tiles_down: u32,
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
var<workgroup> wg_flow: array<Num, 64>; // of each line: below the tile, then above it

// Writes one step of a column and returns the running values behind it.
fn step_down(at: u32, sum: Nums, unit: vec4<u32>) -> Nums {
  let next = side_by_side(sum, unpack(unit));
  if (EXCLUSIVE) { store_output(at, pack(sum)); } else { store_output(at, pack(next)); }
  return next;
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
  let whole = AT_ONCE && left >= STEPS;
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
  // One invocation per line: what is above comes in, what is below goes out.
  let row = COLUMNS * PER_UNIT;
  if (invocation < row) {
    let place = (down * params.tiles_across + across) * row + invocation;
    var above = identity();
    if (down > 0u) { above = wait_for(place - params.tiles_across * row); }
    publish(place, combine(above, wg_flow[invocation]));
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
