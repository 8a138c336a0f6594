// 16 bytes at a time, for lines whose elements are adjacent and start and end on whole units. Needs num.
#import whole_units
const SHIFTED = false; // lines start on whole units

fn read_unit(source: u32, p: u32) -> Held { return load_input(unit_index(source, p)); }

// A unit once all loads are under way, of this line alone.
fn settled(held: Held, source: u32, p: u32) -> Held { return held; }

fn write_unit(first: u32, p: u32, n: Nums) { store_output(unit_index(first, p), pack(in_order(n))); }
