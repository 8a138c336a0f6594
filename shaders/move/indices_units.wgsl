// Index values that lie side by side, reached 16 bytes at a time.
#bind read indices: vec4<u32>
fn index_word(i: u32) -> u32 { return load_indices(i / 4u)[i % 4u]; }
