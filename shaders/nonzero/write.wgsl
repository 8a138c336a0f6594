// NONZERO_COORDINATES, second half: the coordinates of each element that is not zero, in order, and
// how many there are. `blocks` says how many come before each block.
#param columns: u32 // coordinates in a row
#param row: u32 // steps through the output
#param column: u32
#param blocks: u32
#param column_sizes: array<vec4<u32>, 2> // of the dimensions that the coordinates are of
#import elements
#bind read blocks: u32
#bind write output: u32
#bind write total: u32
#import scan

fn write(position: u32, row: u32) {
  var rest = position;
  for (var k = params.columns; k > 0u; k--) {
    let d = k - 1u;
    let size = params.column_sizes[d / 4u][d % 4u];
    store_output(row * params.row + d * params.column, rest % size);
    rest /= size;
  }
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  let first = (number * WG_SIZE + lane) * PER_LANE;
  let found = found_from(first);
  let before = sum_before(lane, countOneBits(found));
  var row = load_blocks(number) + before;
  if (lane == WG_SIZE - 1u && number == params.blocks - 1u) {
    store_total(0u, row + countOneBits(found));
  }
  for (var k = 0u; k < PER_LANE; k++) {
    if ((found & (1u << k)) != 0u) {
      write(first + k, row);
      row += 1u;
    }
  }
}
