// SIMD within a register: words of two or four integers, all of them calculated with at once.
// `SWAR_TOPS` has the highest bit of each, and `SWAR_SIGNS` has it where they are signed;
// dmlgpu/plan/values.py writes both.
//
// Carries and borrows end at a highest bit that is known, and the true one is put in its place.
fn swar_add(a: u32, b: u32) -> u32 {
  return ((a & ~SWAR_TOPS) + (b & ~SWAR_TOPS)) ^ ((a ^ b) & SWAR_TOPS);
}
fn swar_sub(a: u32, b: u32) -> u32 {
  return ((a | SWAR_TOPS) - (b & ~SWAR_TOPS)) ^ ((a ^ ~b) & SWAR_TOPS);
}
fn swar_max(a: u32, b: u32) -> u32 {
  let larger = swar_filled(swar_not_below(a, b));
  return (a & larger) | (b & ~larger);
}
fn swar_min(a: u32, b: u32) -> u32 {
  let larger = swar_filled(swar_not_below(a, b));
  return (b & larger) | (a & ~larger);
}
fn swar_lt(a: u32, b: u32) -> u32 { return swar_le(b, a) ^ (SWAR_TOPS >> swar_last()); }
fn swar_le(a: u32, b: u32) -> u32 { return swar_not_below(b, a) >> swar_last(); }
fn swar_eq(a: u32, b: u32) -> u32 {
  let differs = a ^ b;
  let tops = (((differs & ~SWAR_TOPS) + ~SWAR_TOPS) | differs) & SWAR_TOPS;
  return (tops ^ SWAR_TOPS) >> swar_last();
}
// The highest bits of the integers of a that are not below those of b.
fn swar_not_below(a: u32, b: u32) -> u32 {
  let x = a ^ SWAR_SIGNS;
  let y = b ^ SWAR_SIGNS;
  let rest = (x | SWAR_TOPS) - (y & ~SWAR_TOPS);
  return ((x & ~y) | (~(x ^ y) & rest)) & SWAR_TOPS;
}
// All bits of the integers whose highest bits are given.
fn swar_filled(tops: u32) -> u32 { return (tops << 1u) - (tops >> swar_last()); }
fn swar_last() -> u32 { return firstTrailingBit(SWAR_TOPS); }
