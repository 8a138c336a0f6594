// Scatters, second half: updates whose tuple has won its place are written there.
#param out_base: u32 // element of the output where the loops start
#param positions: array<vec4<u32>, 2> // how the loops count the tuples
#param out_strides: array<vec4<u32>, 2>
#param source_strides: array<vec4<u32>, 2>
#param gather_out: array<vec4<u32>, 2>
#bind read indices: u32
#bind read winners: u32
#import invocation/in_workgroup
#import target
#import put
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let id = group_of(me) * WG_SIZE + me.lane;
  if (id >= params.count) { return; }
  var rest = id;
  var tuple_at = 0u;
  var place = 0u;
  var position = 0u;
  var address = params.out_base;
  var source = 0u;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    let size = params.sizes[d / 4u][d % 4u];
    let c = rest % size;
    rest /= size;
    tuple_at += c * params.tuple_strides[d / 4u][d % 4u];
    place += c * params.table_strides[d / 4u][d % 4u];
    position += c * params.positions[d / 4u][d % 4u];
    address += c * params.out_strides[d / 4u][d % 4u];
    source += c * params.source_strides[d / 4u][d % 4u];
  }
  for (var m = 0u; m < TUPLE; m++) {
    let size = params.gather_sizes[m / 4u][m % 4u];
    let c = coordinate(tuple_at + m * params.index_step, size);
    if (c >= size) { return; }
    place += c * params.gather_table[m / 4u][m % 4u];
    address += c * params.gather_out[m / 4u][m % 4u];
  }
  place -= params.table_first;
  if (place >= params.table_size) { return; }
  if (load_winners(place) == position + 1u) { put(address, source, id); }
}
