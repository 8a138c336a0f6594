// Words of two or four integers, all of them calculated with at once. `LANE_TOPS` has the highest bit
// of each, and `LANE_SIGNS` has it where they are signed; dmlgpu/plan/values.py writes both.
//
// Carries and borrows end at a highest bit that is known, and the true one is put in its place.
fn lanes_add(a: u32, b: u32) -> u32 {
  return ((a & ~LANE_TOPS) + (b & ~LANE_TOPS)) ^ ((a ^ b) & LANE_TOPS);
}
fn lanes_sub(a: u32, b: u32) -> u32 {
  return ((a | LANE_TOPS) - (b & ~LANE_TOPS)) ^ ((a ^ ~b) & LANE_TOPS);
}
fn lanes_max(a: u32, b: u32) -> u32 {
  let larger = lanes_filled(lanes_not_below(a, b));
  return (a & larger) | (b & ~larger);
}
fn lanes_min(a: u32, b: u32) -> u32 {
  let larger = lanes_filled(lanes_not_below(a, b));
  return (b & larger) | (a & ~larger);
}
fn lanes_lt(a: u32, b: u32) -> u32 { return lanes_le(b, a) ^ (LANE_TOPS >> lanes_last()); }
fn lanes_le(a: u32, b: u32) -> u32 { return lanes_not_below(b, a) >> lanes_last(); }
fn lanes_eq(a: u32, b: u32) -> u32 {
  let differs = a ^ b;
  let tops = (((differs & ~LANE_TOPS) + ~LANE_TOPS) | differs) & LANE_TOPS;
  return (tops ^ LANE_TOPS) >> lanes_last();
}
// The highest bits of the integers of a that are not below those of b.
fn lanes_not_below(a: u32, b: u32) -> u32 {
  let x = a ^ LANE_SIGNS;
  let y = b ^ LANE_SIGNS;
  let rest = (x | LANE_TOPS) - (y & ~LANE_TOPS);
  return ((x & ~y) | (~(x ^ y) & rest)) & LANE_TOPS;
}
// All bits of the integers whose highest bits are given.
fn lanes_filled(tops: u32) -> u32 { return (tops << 1u) - (tops >> lanes_last()); }
fn lanes_last() -> u32 { return firstTrailingBit(LANE_TOPS); }
