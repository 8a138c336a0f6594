// Running sums.
fn combine(a: Num, b: Num) -> Num { return add(a, b); }
fn identity() -> Num { return zero(); }
fn identities() -> Nums {
  var n: Nums;
  for (var j = 0u; j < PER_UNIT; j++) { n[j] = identity(); }
  return n;
}
