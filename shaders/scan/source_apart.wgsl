// Where elements are: adjacent along each line, which begins anywhere, so that a unit of its results is in
// two units of the input.
const BITS = 128u / PER_UNIT;

struct Raw {
  low: vec4<u32>,
  high: vec4<u32>,
}

fn no_raw() -> Raw { return Raw(no_values(), no_values()); }

// How far ahead of its results a line's elements are, in wrapping numbers.
fn ahead_of(line: Line) -> u32 { return line.source - line.target_; }

// The same of the line that is walked behind the one whose results begin at `first`.
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
  let shift = ahead % PER_UNIT * BITS;
  let by_two = (shift & 64u) != 0u;
  let by_word = (shift & 32u) != 0u;
  var words = select(raw.low, vec4<u32>(raw.low.zw, raw.high.xy), by_two);
  if (BITS == 64u) { return words; }
  let more = select(raw.high.xy, raw.high.zw, by_two);
  words = select(words, vec4<u32>(words.yzw, more.x), by_word);
  if (BITS == 32u) { return words; }
  let high = vec4<u32>(words.yzw, select(more.x, more.y, by_word)) << vec4<u32>(16u);
  return select(words, (words >> vec4<u32>(16u)) | high, (shift & 16u) != 0u);
}
