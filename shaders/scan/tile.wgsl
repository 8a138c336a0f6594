// A run of one line that a subgroup keeps in registers between reading and writing: ROUNDS times
// its lanes, 16 bytes each. Needs num, fold, io and lanes.
override EXCLUSIVE: bool = false;

struct Round {
  held: Held,
  before: Num, // everything in the run before this lane's unit
  after: Num, // with all of the round
}

fn take_round(line: Line, p: u32, end: u32) -> Raw {
  if (p < end) { return read_unit(line, p); }
  return no_raw();
}

fn add_round(held: Held, run: Num, lanes: Lanes) -> Round {
  let sum = across_lanes(total(values(held)), lanes.id, lanes);
  let before = combine(run, lanes_before(sum, lanes.id));
  return Round(held, before, combine(run, subgroupShuffle(sum, lanes.size - 1u)));
}

fn write_round(target_: u32, p: u32, end: u32, round: Round, start: Num) {
  if (p < end) { write_inside(target_, p, round, start); }
}

fn write_inside(target_: u32, p: u32, round: Round, start: Num) {
  let first = combine(start, round.before);
  let n = running(first, values(round.held));
  if (EXCLUSIVE) { write_unit(target_, p, shifted(first, n)); } else { write_unit(target_, p, n); }
}
