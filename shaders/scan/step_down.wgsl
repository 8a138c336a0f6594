// One step of a column. Needs num, fold and columns.
override EXCLUSIVE: bool = false;

// What is written: the running values before a step, or behind it.
fn shown(sum: Nums, next: Nums) -> Nums {
  if (EXCLUSIVE) { return sum; }
  return next;
}

// Writes a step that was read from `from_` and returns the running values behind it.
fn step_down(at: Address, columns: Columns, sum: Nums, unit: vec4<u32>, from_: Address) -> Nums {
  let next = side_by_side(sum, unpack(settled(unit, from_)));
  store_columns(at, columns, framed(pack(shown(sum, next)), at));
  return next;
}
