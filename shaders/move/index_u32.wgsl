// A 32-bit index value as a coordinate of a dimension of `size`, out-of-range values clamped.
const INDEX_WORDS = 1u;
fn coordinate(word: u32, high: u32, size: u32) -> u32 { return min(word, size - 1u); }
