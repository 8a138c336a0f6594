// Index values as coordinates of a dimension of `size`, without branches: negative ones count from the
// end, and values out of range are clamped. The sum of a negative value and the size wraps at 2^32; it
// is below the size where the value is in range. Of 64 bits the whole value decides.
fn index_u32(value: u32, size: u32) -> u32 { return min(value, size - 1u); }
fn index_i32(value: u32, size: u32) -> u32 {
  let ends = bitcast<i32>(value) < 0i; // counts from there
  let at = value + select(0u, size, ends);
  return select(select(size - 1u, 0u, ends), at, at < size);
}
fn index_u64(value: vec2<u32>, size: u32) -> u32 {
  return select(min(value.x, size - 1u), size - 1u, value.y != 0u);
}
fn index_i64(value: vec2<u32>, size: u32) -> u32 {
  let ends = bitcast<i32>(value.y) < 0i;
  let at = value.x + select(0u, size, ends);
  let inside = value.y == select(0u, 0xffffffffu, ends) && at < size;
  return select(select(size - 1u, 0u, ends), at, inside);
}
