// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: a workgroup scans one segment of one line, a tile at a
// time; each subgroup owns a run of the tile and one barrier joins the runs. Lines of several
// segments take three passes, as in walk.wgsl.
override WG_SIZE: u32 = 256;
const ROUNDS = 4u;

#param segments: u32
#param segment_units: u32
#param axis_units: u32
#import invocation/in_subgroup
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

// Sum of a segment: each subgroup adds up a part of its own, and one barrier joins them.
fn sum_segment(work: Work, lanes: Lanes) -> Num {
  let subgroups = WG_SIZE / lanes.size;
  let stride = lanes.size * 8u;
  let part = (work.end - work.first + subgroups * stride - 1u) / (subgroups * stride) * stride;
  let begin = work.first + lanes.group * part;
  let end = min(begin + part, work.end);
  var run = identity();
  // All subgroups go round equally often: drivers are slow to shuffle where some may have left.
  for (var at = begin; at < begin + part; at += stride) {
    #repeat 8: let raw$ = take_round(work.line, at + $u * lanes.size + lanes.id, end);
    #repeat 8: let held$ = settled(raw$, work.line, at + $u * lanes.size + lanes.id);
    if (EXACT) {
      #repeat 8: run = combine(run, total(values(held$)));
    } else {
      #repeat 8: run = combine(run, sum_lanes(total(values(held$)), lanes));
    }
  }
  if (EXACT) { run = sum_lanes(run, lanes); }
  if (lanes.id == 0u) { wg_totals[lanes.group] = run; }
  workgroupBarrier();
  var sum = identity();
  for (var g = 0u; g < subgroups; g++) { sum = combine(sum, wg_totals[g]); }
  return sum;
}

// A unit of the segment, or its last one again: with no load in a branch all of a tile are on their way.
fn take_ahead(work: Work, p: u32) -> Raw { return read_unit(work.line, min(p, work.end - 1u)); }

// `start` is what comes before the segment. The next tile is on its way while one is scanned and written;
// what it has behind the end of the segment comes behind all that is written.
fn scan_segment(work: Work, start: Num, lanes: Lanes) {
  var carry = start;
  let own = lanes.group * ROUNDS * lanes.size + lanes.id;
  #repeat 4: var next$ = take_ahead(work, work.first + own + $u * lanes.size);
  for (var tile = work.first; tile < work.end; tile += WG_SIZE * ROUNDS) {
    let first = tile + own;
    #repeat 4: let held$ = settled(next$, work.line, first + $u * lanes.size);
    #repeat 4: next$ = take_ahead(work, first + WG_SIZE * ROUNDS + $u * lanes.size);
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
    #repeat 4: write_round(work.line.target_, first + $u * lanes.size, work.end, round$, before);
  }
}

fn lanes_of(at: Invocation) -> Lanes { return Lanes(at.lane, lanes_in(at.subgroup_size), at.subgroup); }

@compute @workgroup_size(WG_SIZE)
fn scan(at: Invocation) {
  let number = group_of(at);
  if (number >= params.lines * params.segments) { return; }
  scan_segment(work_of(number), identity(), lanes_of(at));
}

@compute @workgroup_size(WG_SIZE)
fn scan_carried(at: Invocation) {
  let number = group_of(at);
  if (number >= params.lines * params.segments) { return; }
  scan_segment(work_of(number), load_partial(number), lanes_of(at));
}

@compute @workgroup_size(WG_SIZE)
fn reduce(at: Invocation) {
  let number = group_of(at);
  if (number >= params.lines * params.segments) { return; }
  let sum = sum_segment(work_of(number), lanes_of(at));
  if (at.lane == 0u && at.subgroup == 0u) { store_partial(number, sum); }
}
