// Single elements of 64 bits. Needs num.
#bind read input: vec2<u32>
#bind write output: vec2<u32>
fn value_at(e: u32) -> Num { return decode(load_input(e)); }
fn put(e: u32, v: Num) { store_output(e, encode(v)); }
