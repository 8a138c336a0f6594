// NONZERO_COORDINATES, second of three: how many are found before each block, and in all.
#param blocks: u32
#bind write blocks: u32
#bind write total: u32
#import scan
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
  let share = (params.blocks + WG_SIZE - 1u) / WG_SIZE;
  let first = min(lane * share, params.blocks);
  let end = min(first + share, params.blocks);
  var own = 0u;
  for (var k = first; k < end; k++) { own += load_blocks(k); }
  var before = sum_before(lane, own);
  if (lane == WG_SIZE - 1u) { store_total(0u, before + own); }
  for (var k = first; k < end; k++) {
    let found = load_blocks(k);
    store_blocks(k, before);
    before += found;
  }
}
