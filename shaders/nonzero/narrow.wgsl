// The flagged elements themselves, of 8 or 16 bits: put together in workgroup memory to words of the
// output, of which the first and the last may hold what other blocks put there. Needs `flagged`.
#bind read input: u32
#bind atomic output: u32
override BITS: u32 = 8;
override PER_WORD: u32 = 32u / BITS;
override ONE: u32 = (1u << BITS) - 1u;
override WORDS: u32 = BLOCK / PER_WORD + 1u;
var<workgroup> wg_output: array<atomic<u32>, WORDS>;

fn element(e: u32) -> u32 { return (load_input(e / PER_WORD) >> (e % PER_WORD * BITS)) & ONE; }

fn join(at: u32, v: u32) { atomicOr(&wg_output[at / PER_WORD], v << (at % PER_WORD * BITS)); }

// The bits of the elements of a word before element `k` of it.
fn before(k: u32) -> u32 { return select((1u << (k * BITS % 32u)) - 1u, 0xffffffffu, k >= PER_WORD); }

fn put(number: u32, lane: u32, start: u32, count: u32) {
  for (var w = lane; w < WORDS; w += WG_SIZE) { atomicStore(&wg_output[w], 0u); }
  workgroupBarrier();
  let begin = start % PER_WORD; // where the first element lies in its word
  let first = lane / 32u * 32u;
  for (var k = first; k < first + 32u; k += 8u) {
    #repeat 8: let f$ = flagged(number, k + $u, lane);
    #repeat 8: let v$ = element(select(0u, f$.element, f$.here));
    #repeat 8: if (f$.here) { join(begin + f$.rank, v$); }
  }
  workgroupBarrier();
  let end = begin + count;
  for (var w = lane; w * PER_WORD < end && count > 0u; w += WG_SIZE) {
    let own = before(end - w * PER_WORD) & ~select(0u, before(begin), w == 0u);
    let word = atomicLoad(&wg_output[w]);
    let at = start / PER_WORD + w;
    if (own == 0xffffffffu) { store_output(at, word); } else { merge_output(at, own, word); }
  }
}
