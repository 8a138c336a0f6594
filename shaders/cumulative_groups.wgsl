// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: a workgroup scans one segment of one line, a tile at a
// time; each subgroup owns a run of the tile and one barrier joins the runs. Lines of several
// segments take three passes, as in cumulative.wgsl.
override WG_SIZE: u32 = 256;
const ROUNDS = 4u;

struct Params {
  lines: u32,
  segments: u32,
  segment_units: u32,
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
#import num
#import partials
#import fold
#import io
#import lines
#import lanes
#import tile

var<workgroup> wg_totals: array<Num, 64>; // of each subgroup

struct Work {
  line: Line,
  first: u32, // units
  end: u32,
}

fn work_of(number: u32) -> Work {
  let segment = number % params.segments;
  let first = segment * params.segment_units;
  let end = min(first + params.segment_units, params.axis_units);
  return Work(line_at(number / params.segments), first, end);
}

// Scans a segment from `start`, or only sums it where nothing is to be written.
fn scan_segment(work: Work, start: Num, writes: bool, lanes: Lanes) -> Num {
  var carry = start;
  for (var tile = work.first; tile < work.end; tile += WG_SIZE * ROUNDS) {
    let first = tile + lanes.group * ROUNDS * lanes.size + lanes.id;
    #repeat 4: let held$ = take_round(work.line.source, first + $u * lanes.size, work.end);
    var run = identity();
    #repeat 4: let round$ = add_round(held$, run, lanes); run = round$.after;
    if (tile > work.first) { workgroupBarrier(); }
    if (lanes.id == 0u) { wg_totals[lanes.group] = run; }
    workgroupBarrier();
    var before = carry;
    for (var g = 0u; g < WG_SIZE / lanes.size; g++) {
      if (g == lanes.group) { before = carry; }
      carry = combine(carry, wg_totals[g]);
    }
    if (writes) {
      #repeat 4: write_round(work.line.target_, first + $u * lanes.size, work.end, round$, before);
    }
  }
  return carry;
}

@compute @workgroup_size(WG_SIZE)
fn scan(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.lines * params.segments) { return; }
  _ = scan_segment(work_of(number), identity(), true, Lanes(lane, lane_count, subgroup));
}

@compute @workgroup_size(WG_SIZE)
fn scan_carried(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.lines * params.segments) { return; }
  let start = load_partial(number);
  _ = scan_segment(work_of(number), start, true, Lanes(lane, lane_count, subgroup));
}

@compute @workgroup_size(WG_SIZE)
fn reduce(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_size) lane_count: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.lines * params.segments) { return; }
  let sum = scan_segment(work_of(number), identity(), false, Lanes(lane, lane_count, subgroup));
  if (lane == 0u && subgroup == 0u) { store_partial(number, sum); }
}
