// Scans boxes of lines, one below the other; needs `load_box`, `values_of`, `hold`, `scan_lines`,
// `put_out` and `keep`.
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
