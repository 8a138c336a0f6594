// Gathers elements that each have an index tuple of their own, on a GPU: one invocation makes one
// word of the output, gaps between elements included, or an element of 64 bits. Neighbours read
// neighbouring tuples, and all loads of an invocation are under way at once.
// Needs tuple_stride and resolve.
#bind read input: u32
#bind write output: u32
#import place
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override PER_WORD: u32 = max(32u / BITS, 1u);

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let made = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (made >= params.count) { return; }
  if (BITS == 64u) {
    let at = place(made);
    let e = resolve(at.source, at.tuple_at);
    let value = vec2<u32>(load_input(2u * e), load_input(2u * e + 1u));
    store_output(2u * made, select(0u, value.x, is_element(at)));
    store_output(2u * made + 1u, select(0u, value.y, is_element(at)));
    return;
  }
  #repeat 4: var at$ = Place(); var e$ = 0u; if (PER_WORD > $u) { at$ = place(made * PER_WORD + $u); e$ = resolve(at$.source, at$.tuple_at); }
  #repeat 4: var w$ = 0u; if (PER_WORD > $u) { w$ = load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u); }
  let mask = 0xffffffffu >> ((32u - BITS % 32u) % 32u);
  var word = 0u;
  #repeat 4: if (PER_WORD > $u && is_element(at$)) { word |= (w$ & mask) << ($u * BITS % 32u); }
  store_output(made, word);
}
