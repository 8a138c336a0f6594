// The sum of what the invocations of a workgroup before this one have.
var<workgroup> sums: array<u32, WG_SIZE>;

fn sum_before(lane: u32, own: u32) -> u32 {
  sums[lane] = own;
  for (var step = 1u; step < WG_SIZE; step *= 2u) {
    workgroupBarrier();
    var other = 0u;
    if (lane >= step) { other = sums[lane - step]; }
    workgroupBarrier();
    sums[lane] += other;
  }
  return sums[lane] - own;
}
