// Element by element, for lines of any layout. Needs num.
#import elements
const SHIFTED = false; // no unit is shared

alias Held = Nums;

// Unit `p` of the line whose first element is `source`; identities behind its end.
fn read_unit(source: u32, p: u32) -> Held {
  var n = to_array(identities());
  let first = p * PER_UNIT;
  for (var j = 0u; j < PER_UNIT; j++) {
    if (first + j < params.axis_size) { n[j] = value_at(source + (first + j) * params.in_step); }
  }
  return from_array(n);
}

fn settled(held: Held, source: u32, p: u32) -> Held { return held; }

fn values(held: Held) -> Nums { return held; }

fn no_values() -> Held { return identities(); }

fn write_unit(target_: u32, p: u32, nums: Nums) {
  var n = to_array(nums);
  let first = p * PER_UNIT;
  for (var j = 0u; j < PER_UNIT; j++) {
    if (first + j < params.axis_size) { put(target_ + (first + j) * params.out_step, n[j]); }
  }
}
