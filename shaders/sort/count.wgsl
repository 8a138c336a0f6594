// One pass of a radix sort, first half: how often each digit occurs in each tile of a line.
#import invocation/in_workgroup
#import work
#import item
#import source
#import counted
#bind write counts: u32
const DIGITS = 256u;
const PER = 16u;
var<workgroup> wg_found: array<atomic<u32>, DIGITS>;

fn found(item: Item) { atomicAdd(&wg_found[item_digit(item, params.shift) % DIGITS], 1u); }

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  let lane = me.lane;
  let line = number / params.chunks;
  let tile = number % params.chunks;
  for (var d = lane; d < DIGITS; d += WG_SIZE) { atomicStore(&wg_found[d], 0u); }
  workgroupBarrier();
  if (number < params.segments) { count_tile(line, tile * PER * WG_SIZE + lane); }
  workgroupBarrier();
  if (number < params.segments) {
    for (var d = lane; d < DIGITS; d += WG_SIZE) {
      store_counts((line * DIGITS + d) * params.chunks + tile, atomicLoad(&wg_found[d]));
    }
  }
}
