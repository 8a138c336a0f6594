// A word of flags from units that neighbouring invocations have read side by side, all loads under
// way at once. Needs the declarations of flags.wgsl.
override PITCH: u32 = WG_SIZE + 32u / UNITS; // so that neighbours lie in different banks
override MOST: u32 = UNITS * PITCH;
var<workgroup> wg_found: array<u32, MOST>;

fn word_of(number: u32, lane: u32) -> u32 {
  let first = number * WG_SIZE * UNITS + lane;
  let last = (params.count - 1u) / PER_UNIT;
  #repeat 16: var v$ = vec4<u32>(); if (UNITS > $u) { v$ = load_input(min(first + $u * WG_SIZE, last)); }
  #repeat 16: if (UNITS > $u) { let at = lane + $u * WG_SIZE; wg_found[at % UNITS * PITCH + at / UNITS] = found_in(v$); }
  workgroupBarrier();
  var found = 0u;
  #repeat 16: if (UNITS > $u) { found |= wg_found[min($u, UNITS - 1u) * PITCH + lane] << ($u * PER_UNIT % 32u); }
  return found;
}
