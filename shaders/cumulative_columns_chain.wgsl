// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along a long outer axis with too few lines to fill a GPU:
// a workgroup takes the next tile of COLUMNS units by ROWS * STEPS steps, keeps it in registers,
// waits for the running values above it, and writes. Tickets go across before they go down, and
// every tile waits only for one that has started.
override WG_SIZE: u32 = 256; // COLUMNS * ROWS
override EXCLUSIVE: bool = false;
const COLUMNS = 8u;
const ROWS = 32u;
const STEPS = 16u;

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
#import publish

const PREFIX = 1u;

var<workgroup> wg_ticket: u32;
var<workgroup> wg_totals: array<array<Nums, COLUMNS>, ROWS>;
var<workgroup> wg_above: array<Nums, COLUMNS>;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) invocation: u32) {
  if (invocation == 0u) { wg_ticket = take_ticket(); }
  let ticket = workgroupUniformLoad(&wg_ticket);
  let down = ticket / params.tiles_across;
  let across = ticket - down * params.tiles_across;
  if (down >= params.tiles_down) { return; }
  let x = invocation % COLUMNS;
  let y = invocation / COLUMNS;
  let column = across * COLUMNS + x;
  let inside = column < params.columns;
  let line = line_at(min(column, params.columns - 1u)); // addresses and strides are in units
  let first = (down * ROWS + y) * STEPS;
  let source = line.source + first * params.in_step;
  var units: array<vec4<u32>, STEPS>;
  for (var k = 0u; k < STEPS; k++) {
    if (inside && first + k < params.axis_size) { units[k] = load_input(source + k * params.in_step); }
  }
  var total = identities();
  for (var k = 0u; k < STEPS; k++) {
    if (first + k < params.axis_size) {
      let n = unpack(units[k]);
      for (var j = 0u; j < PER_UNIT; j++) { total[j] = combine(total[j], n[j]); }
    }
  }
  wg_totals[y][x] = total;
  workgroupBarrier();
  var before = identities();
  for (var r = 0u; r < y; r++) {
    let other = wg_totals[r][x];
    for (var j = 0u; j < PER_UNIT; j++) { before[j] = combine(before[j], other[j]); }
  }
  if (y == ROWS - 1u) {
    // Lane x speaks for its unit of lines: what is above comes in, what is below goes out.
    var above = identities();
    for (var j = 0u; j < PER_UNIT; j++) {
      let place = (across * COLUMNS + x) * PER_UNIT + j;
      let row = params.tiles_across * COLUMNS * PER_UNIT;
      if (down > 0u) {
        var seen = published((down - 1u) * row + place);
        while (seen.flag == 0u) { seen = published((down - 1u) * row + place); }
        above[j] = seen.value;
      }
      let below = combine(above[j], combine(before[j], total[j]));
      publish(down * row + place, PREFIX, below);
    }
    wg_above[x] = above;
  }
  workgroupBarrier();
  let above = wg_above[x];
  for (var j = 0u; j < PER_UNIT; j++) { total[j] = combine(above[j], before[j]); }
  let at = line.target_ + first * params.out_step;
  for (var k = 0u; k < STEPS; k++) {
    if (inside && first + k < params.axis_size) {
      let n = unpack(units[k]);
      var next: Nums;
      for (var j = 0u; j < PER_UNIT; j++) { next[j] = combine(total[j], n[j]); }
      if (EXCLUSIVE) {
        store_output(at + k * params.out_step, pack(total));
      } else {
        store_output(at + k * params.out_step, pack(next));
      }
      total = next;
    }
  }
}
