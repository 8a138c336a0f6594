// Where elements are: adjacent along each line, which begins anywhere, so that a unit of its results is in
// two units of the input.
#import unit_across
const BITS = 128u / PER_UNIT;

struct Raw {
  low: vec4<u32>,
  high: vec4<u32>,
}

fn no_raw() -> Raw { return Raw(no_values(), no_values()); }

// `ahead_of` the line that is walked behind the one whose results begin at `first`.
fn ahead_of_next(first: u32) -> u32 {
  let number = (first - params.out_base) / params.axis_size;
  return ahead_of(line_at(select(number + 1u, number - 1u, BACKWARD)));
}

// Both units of the input that unit `u` of the output is in. It may begin before the input, with elements
// that belong to no line.
fn load_raw(u: u32, ahead: u32) -> Raw {
  let next = (u * PER_UNIT + ahead + PER_UNIT) / PER_UNIT;
  return Raw(load_input(max(next, 1u) - 1u), load_input(next));
}

fn unit_of(raw: Raw, ahead: u32) -> vec4<u32> {
  return unit_across(raw.low, raw.high, ahead * BITS, BITS == 16u);
}
