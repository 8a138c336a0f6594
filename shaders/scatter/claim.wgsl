// Scatters, first half: every index tuple claims its place, and the last one in order gets it.
#bind read indices: u32
#bind atomic winners: u32
#import invocation/in_workgroup
#import target
override WG_SIZE: u32 = 256;

struct Claim {
  place: u32,
  inside: bool,
}

fn claimed(position: u32) -> Claim {
  var rest = position;
  var made = Claim(0u, position < params.count);
  var tuple_at = 0u;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    let c = rest % size;
    rest /= size;
    tuple_at += c * params.tuple_strides[d / 4u][d % 4u];
    made.place += c * params.table_strides[d / 4u][d % 4u];
  }
  for (var m = 0u; m < TUPLE; m++) {
    let size = params.gather_sizes[m / 4u][m % 4u];
    let c = coordinate(tuple_at + m * params.index_step, size);
    made.inside = made.inside && c < size;
    made.place += c * params.gather_table[m / 4u][m % 4u];
  }
  made.place -= params.table_first;
  made.inside = made.inside && made.place < params.table_size;
  return made;
}

@compute @workgroup_size(WG_SIZE)
fn clear(me: Invocation) {
  let claim = claimed(group_of(me) * WG_SIZE + me.lane);
  if (claim.inside) { store_winners(claim.place, 0u); }
}

@compute @workgroup_size(WG_SIZE)
fn claim(me: Invocation) {
  let position = group_of(me) * WG_SIZE + me.lane;
  let claim = claimed(position);
  if (claim.inside) { max_winners(claim.place, position + 1u); }
}
