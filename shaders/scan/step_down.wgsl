// Writes one step of a column and returns the running values behind it. Needs num, fold and columns.
override EXCLUSIVE: bool = false;

fn step_down(at: Address, columns: Columns, sum: Nums, unit: vec4<u32>) -> Nums {
  let next = side_by_side(sum, unpack(unit));
  if (EXCLUSIVE) {
    store_columns(at, columns, pack(sum));
  } else {
    store_columns(at, columns, pack(next));
  }
  return next;
}
