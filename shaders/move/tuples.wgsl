// Gathers elements that each have an index tuple of their own into one row, on a CPU adapter: the
// tuples lie side by side and are loaded 16 bytes at a time.
// Needs the declarations of gather.wgsl.
#bind read input: u32
#bind write output: vec4<u32>
#import invocation/in_workgroup
#import tuple_words
#import first_elements
override WG_SIZE: u32 = 64;
override BITS: u32 = 32;
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);
override AT_ONCE: u32 = min(UNIT, 4u); // elements picked at once

// Four elements from `k` on, each in a word; two, if they have 64 bits. `k` begins a unit of tuples.
fn picked(k: u32) -> vec4<u32> {
  let step = params.source_strides[0].x;
  let source = params.source_base + k * step;
  let first = k / AT_ONCE * (AT_ONCE * TUPLE_WORDS / 4u);
  #repeat 4: let i$ = load_indices(first + $u * TUPLE_WORDS / 4u);
  #repeat 4: let e$ = source + $u * step + moved_by_tuple(tuple_in(i$, $u));
  if (BITS == 64u) { return vec4<u32>(load_input(2u * e0), load_input(2u * e0 + 1u), load_input(2u * e1), load_input(2u * e1 + 1u)); }
  #repeat 4: let w$ = load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u);
  return vec4<u32>(w0, w1, w2, w3) & vec4<u32>(0xffffffffu >> ((32u - BITS % 32u) % 32u));
}

// Sixteen elements in a loop: written out, they take a CPU driver minutes to compile.
// Multiplications stand for shifts to the left, which some drivers do lane by lane.
fn unit_at(unit: u32) -> vec4<u32> {
  let first = unit * UNIT;
  if (BITS >= 32u) { return picked(first); }
  var v = vec4<u32>();
  if (BITS == 16u) {
    let a = picked(first);
    let b = picked(first + 4u);
    v = vec4<u32>(a.xz | (a.yw * 65536u), b.xz | (b.yw * 65536u));
  } else {
    for (var k = 0u; k < UNIT; k += 4u) {
      let w = picked(first + k);
      v = vec4<u32>(v.yzw, w.x | (w.y * 256u) | (w.z * 65536u) | (w.w * 16777216u));
    }
  }
  return v & first_elements(min(UNIT, params.sizes[0].x - first));
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let team = group_of(me) * (WG_SIZE / params.team) + me.lane / params.team;
  let end = min((team + 1u) * params.team * params.run, params.count);
  for (var unit = team * params.team * params.run + me.lane % params.team; unit < end; unit += params.team) {
    store_output(unit, unit_at(unit));
  }
}
