// Gathers elements that each have an index tuple of their own into one row, on a CPU adapter: the
// tuples lie side by side and are loaded 16 bytes at a time, and there is no branch.
// Needs params.{count, source_base, sizes, source_strides} and what gather_nd has.
#bind read input: u32
#bind write output: vec4<u32>
#import tuple_words
#import first_elements
override WG_SIZE: u32 = 64;
override RUN: u32 = 16; // units per invocation
override BITS: u32 = 32;
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);
const TEAM = 8u; // invocations whose units take turns

// Multiplications stand for shifts to the left, which some drivers do lane by lane.
fn unit_at(unit: u32) -> vec4<u32> {
  let source = params.source_base + unit * UNIT * params.source_strides[0].x;
  let first = unit * (UNIT * TUPLE_WORDS / 4u);
  #repeat 16: var i$ = vec4<u32>(); if (UNIT > $u) { i$ = load_indices(first + $u * TUPLE_WORDS / 4u); }
  #repeat 16: let e$ = source + $u * params.source_strides[0].x + moved_by_tuple(tuple_in(i$, $u));
  if (BITS == 64u) { return vec4<u32>(load_input(2u * e0), load_input(2u * e0 + 1u), load_input(2u * e1), load_input(2u * e1 + 1u)); }
  if (BITS == 32u) { return vec4<u32>(load_input(e0), load_input(e1), load_input(e2), load_input(e3)); }
  var v = vec4<u32>();
  let mask = (1u << (BITS % 32u)) - 1u;
  #repeat 16: if (UNIT > $u) { v[$u / PER_WORD % 4u] |= ((load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u)) & mask) * (1u << ($u % PER_WORD * BITS % 32u)); }
  return v & first_elements(min(UNIT, params.sizes[0].x - unit * UNIT));
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let team = (group.x + group.y * groups.x) * (WG_SIZE / TEAM) + lane / TEAM;
  let end = min((team + 1u) * TEAM * RUN, params.count);
  for (var unit = team * TEAM * RUN + lane % TEAM; unit < end; unit += TEAM) {
    store_output(unit, unit_at(unit));
  }
}
