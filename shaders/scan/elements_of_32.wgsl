// Single elements of 32 bits. Needs num.
#bind read input: u32
#bind write output: u32
fn value_at(e: u32) -> Num { return decode(vec2<u32>(load_input(e), 0u)); }
fn put(e: u32, v: Num) { store_output(e, encode(v).x); }
