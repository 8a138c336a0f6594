// Sorts segments of lines in workgroup memory and writes the first items of each.
//
// An invocation sorts PER items in registers; then runs are merged two by two, and cut to as many
// items as can be among the first ones. Every invocation makes PER items of a merged run: where
// they begin in the two runs is searched for on a diagonal of the merge. Equal keys never pass each
// other, so the order is stable.
#import invocation/in_workgroup
#import work
#import item
#import source
#import target
#import load
const PER = 8u;
const PER_BITS = 3u;
override TILE: u32 = WG_SIZE * PER;
var<workgroup> wg_items: array<Item, TILE>;

// Neighbouring invocations reach items PER apart: moved around, these lie in different banks.
fn slot(i: u32) -> u32 { return i ^ ((i >> 4u) & 7u); }

fn order(v: ptr<function, array<Item, PER>>, i: u32) {
  let a = (*v)[i];
  let b = (*v)[i + 1u];
  if (before(b, a)) {
    (*v)[i] = b;
    (*v)[i + 1u] = a;
  }
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let lane = me.lane;
  let segments = TILE >> params.room;
  let first = group_of(me) * segments;
  load_segments(first, lane);
  workgroupBarrier();
  let own = lane * PER;
  var v: array<Item, PER>;
  #repeat 8: v[$u] = wg_items[slot(own + $u)];
  for (var round = 0u; round < PER / 2u; round++) {
    #repeat 4: order(&v, 2u * $u);
    #repeat 3: order(&v, 2u * $u + 1u);
  }
  #repeat 8: wg_items[slot(own + $u)] = v[$u];
  var width_bits = PER_BITS;
  for (var runs = params.room - PER_BITS; runs > 0u; runs--) {
    workgroupBarrier();
    let width = 1u << width_bits;
    let merged = min(width_bits + 1u, params.run);
    let works = own < ((segments << (runs - 1u)) << merged);
    if (works) {
      let left = (own >> merged) << (width_bits + 1u);
      let right = left + width;
      let diagonal = own & ((1u << merged) - 1u);
      var i = select(0u, diagonal - width, diagonal > width);
      var end = min(diagonal, width);
      while (i < end) {
        let middle = (i + end) / 2u;
        if (before(wg_items[slot(right + diagonal - 1u - middle)], wg_items[slot(left + middle)])) {
          end = middle;
        } else {
          i = middle + 1u;
        }
      }
      var j = diagonal - i;
      var x = wg_items[slot(left + min(i, width - 1u))];
      var y = wg_items[slot(right + min(j, width - 1u))];
      #repeat 8: if (j < width && (i >= width || before(y, x))) { v[$u] = y; j += 1u; y = wg_items[slot(right + min(j, width - 1u))]; } else { v[$u] = x; i += 1u; x = wg_items[slot(left + min(i, width - 1u))]; }
    }
    workgroupBarrier();
    if (works) {
      #repeat 8: wg_items[slot(own + $u)] = v[$u];
    }
    width_bits = merged;
  }
  workgroupBarrier();
  for (var k = lane; k < (segments << width_bits); k += WG_SIZE) {
    let segment = first + (k >> width_bits);
    let rank = k & ((1u << width_bits) - 1u);
    if (segment < params.segments && rank < params.kept) {
      store_item(target_begin(segment), rank, wg_items[slot(k)]);
    }
  }
}
