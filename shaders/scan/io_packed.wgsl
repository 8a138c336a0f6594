// 16 bytes at a time, for lines whose results lie side by side in memory and start and end anywhere in a
// unit. A unit that holds the end of one line and the beginning of the next is written with the former,
// whole. `source` says where the elements of an output's unit are. Needs num, fold and EXCLUSIVE.
#import whole_units
#import source
override SHIFTED: bool = true; // false for one line from a whole unit on

// The elements of unit `p`, as they are walked, that are those of the line from `first` on.
struct Part {
  low: u32,
  high: u32, // 0 behind the line
}

// Elements of a line's first unit that are not its own.
fn before(first: u32) -> u32 {
  if (!SHIFTED) { return 0u; }
  return select(first, ~first, BACKWARD) % PER_UNIT;
}

fn part_at(first: u32, p: u32) -> Part {
  let missing = before(first);
  let end = max(missing + params.axis_size, p * PER_UNIT);
  return Part(select(0u, missing, p == 0u), min(end - p * PER_UNIT, PER_UNIT));
}

// How far ahead of its results a line's elements are, in wrapping numbers.
fn ahead_of(line: Line) -> u32 { return line.source - line.target_; }

fn read_unit(line: Line, p: u32) -> Raw {
  let last = (before(line.target_) + params.axis_size - 1u) / PER_UNIT;
  return load_raw(unit_index(line.target_, min(p, last)), ahead_of(line));
}

fn settled_whole(raw: Raw, line: Line) -> Held { return unit_of(raw, ahead_of(line)); }

fn settled(raw: Raw, line: Line, p: u32) -> Held {
  let held = settled_whole(raw, line);
  let part = part_at(line.target_, p);
  if (part.low == 0u && part.high == PER_UNIT) { return held; }
  return pack(in_order(chosen(values(held), identities(), part.low, part.high)));
}

fn write_unit(first: u32, p: u32, n: Nums) {
  if (!SHIFTED) { // nor is there a next line
    if (p * PER_UNIT < params.axis_size) { store_output(unit_index(first, p), pack(n)); }
    return;
  }
  let part = part_at(first, p);
  // Only the end of the tensor has no line before it that would write the unit.
  let at_end = BACKWARD && first == params.out_base + (params.lines - 1u) * params.axis_size;
  if (part.high == 0u || (part.low > 0u && !at_end)) { return; }
  var all = n;
  if (part.high < PER_UNIT) {
    let ahead = ahead_of_next(first);
    let held = unit_of(load_raw(unit_index(first, p), ahead), ahead);
    var next = running(identity(), chosen(values(held), identities(), part.high, PER_UNIT));
    if (EXCLUSIVE) { next = shifted(identity(), next); }
    all = chosen(n, next, 0u, part.high);
  }
  store_output(unit_index(first, p), pack(in_order(all)));
}
