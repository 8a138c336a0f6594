// A row of coordinates for each flagged element, and how many there are. Needs `flagged`.
#param columns: u32 // coordinates in a row
#param row: u32 // steps through the output
#param column: u32
#param blocks: u32
#param column_sizes: array<vec4<u32>, 2> // of the dimensions that the coordinates are of
#bind write output: u32
#bind write total: u32

fn put_row(row: u32, position: u32) {
  var rest = position;
  for (var d = params.columns - 1u; d > 0u; d--) {
    let size = params.column_sizes[d / 4u][d % 4u];
    let c = rest / size;
    store_output(row * params.row + d * params.column, rest - c * size);
    rest = c;
  }
  store_output(row * params.row, rest);
}

fn put(number: u32, lane: u32, start: u32, count: u32) {
  if (number == 0u && lane == 0u) { store_total(0u, load_sums(params.blocks)); }
  let first = lane / 32u * 32u;
  for (var k = first; k < first + 32u; k += 8u) {
    #repeat 8: let f$ = flagged(number, k + $u, lane);
    #repeat 8: if (f$.here) { put_row(start + f$.rank, f$.element); }
  }
}
