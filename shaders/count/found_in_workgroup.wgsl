// Counts in workgroup memory first, where equal values of neighbours are counted apart.
#bind atomic output: u32
override BINS: u32 = 256;
override COPIES: u32 = 8;
var<workgroup> wg_found: array<atomic<u32>, BINS * COPIES>;

fn clear(lane: u32) {
  for (var k = lane; k < BINS * COPIES; k += WG_SIZE) { atomicStore(&wg_found[k], 0u); }
}

fn found(value: u32, lane: u32) { atomicAdd(&wg_found[value * COPIES + lane % COPIES], 1u); }

fn finish(lane: u32) {
  for (var k = lane; k < BINS; k += WG_SIZE) {
    var all = 0u;
    for (var c = 0u; c < COPIES; c++) { all += atomicLoad(&wg_found[k * COPIES + c]); }
    if (all != 0u) { add_output(k, all); }
  }
}
