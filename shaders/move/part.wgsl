// JOIN and others that make a part of an output: only the part's own elements are written.
#param out_base: u32
#import invocation/in_workgroup
#import loops
#import move
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;

struct Ends {
  source: u32,
  address: u32,
}

// Where the loops from `RANK - 1 - skipped` outwards stand at step `id`.
fn ends(id: u32, skipped: u32) -> Ends {
  var rest = id;
  var at = Ends(params.source_base, params.out_base);
  for (var k = skipped; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    let c = rest % size;
    rest /= size;
    at.source += c * params.source_strides[d / 4u][d % 4u];
    at.address += c * params.out_strides[d / 4u][d % 4u];
  }
  return at;
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let id = group_of(me) * WG_SIZE + me.lane;
  if (id < params.count) { move_one(id); }
}
