// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: one invocation walks one segment of one line.
// Lines longer than a segment take three passes: `reduce` leaves each segment's total in partials,
// those are scanned by another plan, and `scan_carried` starts each segment from its partial.
override WG_SIZE: u32 = 64;
override RANK: u32 = 1; // dimensions beside the axis
override EXCLUSIVE: bool = false;

struct Params {
  lines: u32,
  segments: u32,
  segment_size: u32,
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
#bind read input: u32
#bind write partials: u32
#import num
#import fold
#import put

struct Run {
  segment: u32,
  line: u32,
  source: u32, // element addresses of the first step
  target_: u32,
  steps: u32,
}

fn run_of(id: u32) -> Run {
  let segment = id / params.lines;
  let line = id - segment * params.lines;
  let first = segment * params.segment_size;
  var run = Run(segment, line, params.in_base + first * params.in_step,
    params.out_base + first * params.out_step,
    min(params.segment_size, params.axis_size - first));
  var rest = line;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    let c = rest % size;
    rest /= size;
    run.source += c * params.in_strides[d / 4u][d % 4u];
    run.target_ += c * params.out_strides[d / 4u][d % 4u];
  }
  return run;
}

fn walk(run: Run, start: Num) {
  var total = start;
  var source = run.source;
  var at = run.target_;
  for (var k = 0u; k < run.steps; k++) {
    let next = combine(total, value_at(source));
    if (EXCLUSIVE) { put(at, total); } else { put(at, next); }
    total = next;
    source += params.in_step;
    at += params.out_step;
  }
}

@compute @workgroup_size(WG_SIZE)
fn scan(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let id = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (id >= params.lines * params.segments) { return; }
  walk(run_of(id), identity());
}

@compute @workgroup_size(WG_SIZE)
fn scan_carried(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let id = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (id >= params.lines * params.segments) { return; }
  var words = vec2<u32>(load_partials(id * NUM_WORDS), 0u);
  if (NUM_WORDS == 2u) { words.y = load_partials(id * NUM_WORDS + 1u); }
  walk(run_of(id), from_words(words));
}

@compute @workgroup_size(WG_SIZE)
fn reduce(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let id = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (id >= params.lines * params.segments) { return; }
  let run = run_of(id);
  var total = identity();
  var source = run.source;
  for (var k = 0u; k < run.steps; k++) {
    total = combine(total, value_at(source));
    source += params.in_step;
  }
  let words = to_words(total);
  store_partials(id * NUM_WORDS, words.x);
  if (NUM_WORDS == 2u) { store_partials(id * NUM_WORDS + 1u, words.y); }
}
