// Which elements are not zero, second step: what is wanted of the flagged ones, in order, side by
// side. `sums` says how many come before each block. 32 invocations go through the words of flags of
// all of them together, each with a bit of its own, so that neighbours write side by side.
#param words: u32 // of flags
#bind read flags: u32
#bind read sums: u32
#import sums
#import put
override WG_SIZE: u32 = 64;
override BLOCK: u32 = 32u * WG_SIZE; // elements
var<workgroup> wg_words: array<vec2<u32>, WG_SIZE>; // flags, and how many of the block come before

struct Flagged { here: bool, rank: u32, element: u32 }

// The element that bit `lane % 32` of word `k` of a block stands for, and its rank in the block.
fn flagged(number: u32, k: u32, lane: u32) -> Flagged {
  let word = wg_words[k];
  let bit = 1u << (lane % 32u);
  let rank = word.y + countOneBits(word.x & (bit - 1u));
  return Flagged((word.x & bit) != 0u, rank, number * BLOCK + 32u * k + lane % 32u);
}

fn work(number: u32, lane: Lane) {
  let word = number * WG_SIZE + lane.index;
  let found = select(0u, load_flags(min(word, params.words - 1u)), word < params.words);
  let sums = sums_of(lane, countOneBits(found));
  wg_words[lane.index] = vec2<u32>(found, sums.before);
  workgroupBarrier();
  put(number, lane.index, load_sums(min(number * WG_SIZE, params.words - 1u) / WG_SIZE), sums.all);
}
