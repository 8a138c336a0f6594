// The flagged elements themselves, of 8 or 16 bits: word by word of the output, of which the first and
// the last may hold what other blocks put there. Needs `flagged`.
#bind read input: u32
#bind atomic output: u32
override BITS: u32 = 8;
override PER_WORD: u32 = 32u / BITS;
override ONE: u32 = (1u << BITS) - 1u;
var<workgroup> wg_elements: array<u32, BLOCK>; // by their ranks

fn element(e: u32) -> u32 { return (load_input(e / PER_WORD) >> (e % PER_WORD * BITS)) & ONE; }

fn put(number: u32, lane: u32, start: u32, count: u32) {
  let first = lane / 32u * 32u;
  for (var k = first; k < first + 32u; k += 8u) {
    #repeat 8: let f$ = flagged(number, k + $u, lane);
    #repeat 8: let v$ = element(select(0u, f$.element, f$.here));
    #repeat 8: if (f$.here) { wg_elements[f$.rank] = v$; }
  }
  workgroupBarrier();
  for (var w = start / PER_WORD + lane; w * PER_WORD < start + count; w += WG_SIZE) {
    var own = 0u;
    var word = 0u;
    // A rank wraps before the first of the block, and is none of its numbers then.
    #repeat 4: let r$ = w * PER_WORD + $u - start; if (PER_WORD > $u && r$ < count) { own |= ONE << ($u * BITS % 32u); word |= wg_elements[r$] << ($u * BITS % 32u); }
    if (own == 0xffffffffu) { store_output(w, word); } else { merge_output(w, own, word); }
  }
}
