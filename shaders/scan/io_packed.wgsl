// 16 bytes at a time, for lines side by side in memory that start and end anywhere in a unit. A unit
// that holds the end of one line and the beginning of the next is written with the former, whole.
// Needs num, fold and EXCLUSIVE.
#import whole_units
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

fn read_unit(source: u32, p: u32) -> Held {
  let last = (before(source) + params.axis_size - 1u) / PER_UNIT;
  return load_input(unit_index(source, min(p, last)));
}

fn settled(held: Held, source: u32, p: u32) -> Held {
  let part = part_at(source, p);
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
  let at_end = BACKWARD && first == params.out_base + (params.sizes[0].x - 1u) * params.axis_size;
  if (part.high == 0u || (part.low > 0u && !at_end)) { return; }
  var all = n;
  if (part.high < PER_UNIT) {
    let held = load_input(unit_index(first + params.in_base - params.out_base, p));
    var next = running(identity(), chosen(values(held), identities(), part.high, PER_UNIT));
    if (EXCLUSIVE) { next = shifted(identity(), next); }
    all = chosen(n, next, 0u, part.high);
  }
  store_output(unit_index(first, p), pack(in_order(all)));
}
