// 16 bytes at a time, for lines whose elements are adjacent and start and end on whole units. Needs num.
#import whole_units
const SHIFTED = false; // lines start on whole units
alias Raw = vec4<u32>;

fn read_unit(line: Line, p: u32) -> Raw { return load_input(unit_index(line.source, p)); }

fn no_raw() -> Raw { return no_values(); }

// A unit once all loads are under way, of this line alone.
fn settled(raw: Raw, line: Line, p: u32) -> Held { return raw; }

// The same of a unit that has nothing but elements of this line.
fn settled_whole(raw: Raw, line: Line) -> Held { return raw; }

fn write_unit(first: u32, p: u32, n: Nums) { store_output(unit_index(first, p), pack(in_order(n))); }
