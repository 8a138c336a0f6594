// Element by element, for lines of any layout. Needs num.
#import elements
const SHIFTED = false; // no unit is shared

alias Held = Nums;
alias Raw = Nums;

// Unit `p` of a line; identities behind its end.
fn read_unit(line: Line, p: u32) -> Raw {
  var n = to_array(identities());
  let first = p * PER_UNIT;
  for (var j = 0u; j < PER_UNIT; j++) {
    if (first + j < params.axis_size) { n[j] = value_at(line.source + (first + j) * params.in_step); }
  }
  return from_array(n);
}

fn settled(raw: Raw, line: Line, p: u32) -> Held { return raw; }

fn settled_whole(raw: Raw, line: Line) -> Held { return raw; }

fn values(held: Held) -> Nums { return held; }

fn no_values() -> Held { return identities(); }

fn no_raw() -> Raw { return identities(); }

fn write_unit(target_: u32, p: u32, nums: Nums) {
  var n = to_array(nums);
  let first = p * PER_UNIT;
  for (var j = 0u; j < PER_UNIT; j++) {
    if (first + j < params.axis_size) { put(target_ + (first + j) * params.out_step, n[j]); }
  }
}
