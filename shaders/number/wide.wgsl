// Integers of 64 bits, signed or not, side by side: their words, and a third that is 0 for negative ones.
fn wide_from_u64(a: vec2<u32>) -> vec3<u32> { return vec3<u32>(a, 1u); }
fn wide_from_i64(a: vec2<u32>) -> vec3<u32> { return vec3<u32>(a, 1u - (a.y >> 31u)); }
fn wide_eq(a: vec3<u32>, b: vec3<u32>) -> bool { return all(a == b); }
fn wide_lt(a: vec3<u32>, b: vec3<u32>) -> bool {
  return a.z < b.z || (a.z == b.z && (a.y < b.y || (a.y == b.y && a.x < b.x)));
}
fn wide_le(a: vec3<u32>, b: vec3<u32>) -> bool { return !wide_lt(b, a); }
