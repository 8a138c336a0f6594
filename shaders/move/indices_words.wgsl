// Index values wherever they lie.
#bind read indices: u32
fn index_word(i: u32) -> u32 { return load_indices(i); }
