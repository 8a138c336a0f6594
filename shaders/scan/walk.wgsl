// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: one invocation walks one segment of one line.
// Lines longer than a segment take three passes: `reduce` leaves each segment's total in partials,
// those are scanned by another plan, and `scan_carried` starts each segment from its partial.
override WG_SIZE: u32 = 64;
override EXCLUSIVE: bool = false;

#param segments: u32
#param segment_units: u32
#param axis_units: u32
#import invocation/in_workgroup
#import num
#import partials
#import fold
#import io
#import lines

struct Run {
  line: Line,
  first: u32, // units
  end: u32,
}

fn run_of(id: u32) -> Run {
  let segment = id / params.lines;
  let first = segment * params.segment_units;
  let end = min(first + params.segment_units, params.axis_units);
  return Run(line_at(id - segment * params.lines), first, end);
}

fn unit_at(line: Line, p: u32) -> Held { return settled(read_unit(line, p), line, p); }

fn walk(run: Run, start: Num) {
  var sum = start;
  for (var p = run.first; p < run.end; p++) {
    let n = running(sum, values(unit_at(run.line, p)));
    if (EXCLUSIVE) {
      write_unit(run.line.target_, p, shifted(sum, n));
    } else {
      write_unit(run.line.target_, p, n);
    }
    sum = last(n);
  }
}

@compute @workgroup_size(WG_SIZE)
fn scan(at: Invocation) {
  let id = group_of(at) * WG_SIZE + at.lane;
  if (id >= params.lines * params.segments) { return; }
  walk(run_of(id), identity());
}

@compute @workgroup_size(WG_SIZE)
fn scan_carried(at: Invocation) {
  let id = group_of(at) * WG_SIZE + at.lane;
  if (id >= params.lines * params.segments) { return; }
  walk(run_of(id), load_partial(id));
}

@compute @workgroup_size(WG_SIZE)
fn reduce(at: Invocation) {
  let id = group_of(at) * WG_SIZE + at.lane;
  if (id >= params.lines * params.segments) { return; }
  let run = run_of(id);
  var sum = identity();
  for (var p = run.first; p < run.end; p++) {
    sum = combine(sum, total(values(unit_at(run.line, p))));
  }
  store_partial(id, sum);
}
