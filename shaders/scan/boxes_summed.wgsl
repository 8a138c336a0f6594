// Sums of segments, the first of three passes; needs `load_box`, `values_of`, `no_values`, `added`,
// `hold` and `store_sums`.
@compute @workgroup_size(WG_SIZE)
fn reduce(at: Invocation) {
  let number = group_of(at);
  if (number >= params.count) { return; }
  let box = box_at(number);
  // Of all boxes of the segment first, step by step; then the steps of each line.
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
