// 16 bytes at a time, for lines whose elements are adjacent and start and end on whole units.
// Needs params.axis_size and num; a backward line starts at its last element in memory.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
override BACKWARD: bool = false;
const SHIFTED = false; // lines start on whole units

fn unit_index(first: u32, p: u32) -> u32 {
  if (BACKWARD) { return (first + 1u) / PER_UNIT - 1u - p; }
  return first / PER_UNIT + p;
}

fn in_order(n: Nums) -> Nums {
  if (BACKWARD) { return turned(n); }
  return n;
}

// Unit `p` of the line whose first element is `source`, as bits that `values` understands.
fn read_unit(source: u32, p: u32) -> Held { return load_input(unit_index(source, p)); }

// A unit once all loads are under way, of this line alone.
fn settled(held: Held, source: u32, p: u32) -> Held { return held; }

fn values(held: Held) -> Nums { return in_order(unpack(held)); }

fn no_values() -> Held { return pack(identities()); }

fn write_unit(first: u32, p: u32, n: Nums) { store_output(unit_index(first, p), pack(in_order(n))); }

alias Held = vec4<u32>;
