// Element `e` of a 32-bit output.
#bind write output: u32
fn put(e: u32, v: Num) { store_output(e, encode(v).x); }
