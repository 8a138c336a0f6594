// A word of flags from units side by side, one after the other. Needs the declarations of flags.wgsl.
fn word_of(number: u32, lane: u32) -> u32 {
  let first = (number * WG_SIZE + lane) * UNITS;
  let last = (params.count - 1u) / PER_UNIT;
  var found = 0u;
  for (var k = 0u; k < UNITS; k++) {
    found |= found_in(load_input(min(first + k, last))) << (k * PER_UNIT);
  }
  return found;
}
