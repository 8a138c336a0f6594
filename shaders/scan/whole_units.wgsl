// Both tensors as 16-byte units along a line, and their elements in the order of the walk; a backward
// line starts at its last element in memory. Needs num.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
override BACKWARD: bool = false;

// Bits of a unit that `values` understands.
alias Held = vec4<u32>;

// Unit `p` of the line whose first element is `first`.
fn unit_index(first: u32, p: u32) -> u32 {
  if (BACKWARD) { return first / PER_UNIT - p; }
  return first / PER_UNIT + p;
}

fn in_order(n: Nums) -> Nums {
  if (BACKWARD) { return turned(n); }
  return n;
}

fn values(held: Held) -> Nums { return in_order(unpack(held)); }

fn no_values() -> Held { return pack(identities()); }
