// GATHER_ND, GATHER_ND1 with debug checks: finds the first index value outside its dimension.
// report[0] is 2^32 - 1 less the lowest bad position, 0 when there is none; report[1..2] its value.
#import invocation/in_workgroup
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;
override WORDS: u32 = 1;
override SIGNED: bool = false;

#param count: u32
#param coordinates: u32
#param sizes: array<vec4<u32>, 2>
#param strides: array<vec4<u32>, 2>
#param gather_sizes: array<vec4<u32>, 2>
#bind read indices: u32
#bind atomic report: u32

fn value_at(position: u32) -> vec2<u32> {
  var rest = position;
  var at = 0u;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    at += rest % size * params.strides[d / 4u][d % 4u];
    rest /= size;
  }
  if (WORDS == 2u) { return vec2<u32>(load_indices(2u * at), load_indices(2u * at + 1u)); }
  let low = load_indices(at);
  return vec2<u32>(low, select(0u, 0xffffffffu, SIGNED && bitcast<i32>(low) < 0i));
}

fn in_range(value: vec2<u32>, size: u32) -> bool {
  if (SIGNED && bitcast<i32>(value.y) < 0i) {
    return value.y == 0xffffffffu && value.x != 0u && 0u - value.x <= size;
  }
  return value.y == 0u && value.x < size;
}

@compute @workgroup_size(WG_SIZE)
fn find(me: Invocation) {
  let position = group_of(me) * WG_SIZE + me.lane;
  if (position >= params.count) { return; }
  let m = position % params.coordinates;
  if (!in_range(value_at(position), params.gather_sizes[m / 4u][m % 4u])) {
    // The complement turns "lowest position" into a maximum, whose start 0 means none.
    max_report(0u, 0xffffffffu - position);
  }
}

@compute @workgroup_size(1)
fn fetch() {
  let found = load_report(0u);
  if (found == 0u) { return; }
  let value = value_at(0xffffffffu - found);
  store_report(1u, value.x);
  store_report(2u, value.y);
}
