// Running products of 64-bit integers on two words, low word first, where shaders have such integers:
// the product of two words is one instruction then. Sums were slower that way.
fn combine(a: Num, b: Num) -> Num {
  let low = u64(a.x) * u64(b.x);
  return vec2<u32>(u32(low), u32(low >> 32u) + a.x * b.y + a.y * b.x);
}
fn identity() -> Num { return one(); }
