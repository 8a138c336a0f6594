// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT between layouts of any kind: a workgroup takes boxes of
// some lines by STEPS steps, one below the other. It reads a box in the order of the input, scans
// its lines, and writes it in the order of the output, so that neighbours read and write neighbours
// on both sides. Between these steps elements are in workgroup memory, except where lines are
// neighbours on that side. A walk along the output writes whole sectors, or whole words: the last
// MARGIN steps of a box are kept for the next. Lines of several segments take three passes, as in
// walk.wgsl. A box is read before it is written, so it may run in place where boxes do not overlap.
// The box, `box_at`, `load_box`, `values_of`, `added`, `hold`, `join_parts`, `scan_lines`,
// `store_sums`, `put_out` and `keep` are written by dmlgpu/plan/box_code.py.
override WG_SIZE: u32 = 256;
override EXCLUSIVE: bool = false;

#param count: u32 // boxes side by side, of all segments
#param segment_steps: u32 // a multiple of STEPS
#param in_base: u32 // addresses of the first element of the first line
#param out_base: u32
#param sizes: array<vec4<u32>, 2> // of the loops, the axis among them
#param counts: array<vec4<u32>, 2> // of boxes or segments along each loop
#param in_strides: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
#param partial_strides: array<vec4<u32>, 2> // from one line, or one segment, to the next
#import invocation
#import num
#import partials
#import fold
#import elements

var<workgroup> wg_sums: array<Num, WG_SIZE>; // of each invocation's steps
var<workgroup> wg_group_sums: array<Num, GROUP_SUMS>; // of PARTS_TOGETHER of those

// What comes before the steps of an invocation, and all of the line up to the end of the box.
struct Joined {
  start: Num,
  after: Num,
}

fn scan_boxes(box: Box, before: Carries, lane: u32) {
  var carries = before;
  var next = load_box(box, 0u, lane);
  var done = 0u;
  for (; done < box.steps; done += STEPS) {
    let loaded = next;
    let values = values_of(loaded, box, done, lane);
    hold(values, lane);
    // The next box is on its way while this one is scanned and written.
    if (!IS_ONE) { next = load_box(box, done + STEPS, lane); }
    if (!READS_LINES) { workgroupBarrier(); }
    carries = scan_lines(values, box, done, carries, lane);
    if (!WRITES_LINES) { workgroupBarrier(); }
    put_out(box, done, lane);
    if (IS_ONE) { return; }
    keep(lane);
  }
  if (MARGIN > 0u) {
    workgroupBarrier();
    put_out(box, done, lane); // what was kept of the last box
  }
}

@compute @workgroup_size(WG_SIZE)
fn scan(at: Invocation) {
  let number = group_of(at);
  if (number >= params.count) { return; }
  scan_boxes(box_at(number), no_carries(), at.lane);
}

@compute @workgroup_size(WG_SIZE)
fn scan_carried(at: Invocation) {
  let number = group_of(at);
  if (number >= params.count) { return; }
  // From the end: what was read last may still be in a cache.
  let box = box_at(params.count - 1u - number);
  scan_boxes(box, load_carries(box, at.lane), at.lane);
}

@compute @workgroup_size(WG_SIZE)
fn reduce(at: Invocation) {
  let number = group_of(at);
  if (number >= params.count) { return; }
  let box = box_at(number);
  // Of all boxes side by side first: one step of each line and box is a sum, then those of a line.
  var sums = no_values();
  var next = load_box(box, 0u, at.lane);
  for (var done = 0u; done < box.steps; done += STEPS) {
    let loaded = next;
    if (!IS_ONE) { next = load_box(box, done + STEPS, at.lane); }
    sums = added(sums, values_of(loaded, box, done, at.lane));
  }
  hold(sums, at.lane);
  workgroupBarrier();
  store_sums(sums, box, at.lane);
}
