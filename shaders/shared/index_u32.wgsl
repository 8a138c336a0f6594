// Index value `i` as a coordinate of a dimension of `size`, out-of-range values clamped.
fn coordinate(i: u32, size: u32) -> u32 { return min(load_indices(i), size - 1u); }
