// Running products.
fn combine(a: Num, b: Num) -> Num { return mul(a, b); }
fn identity() -> Num { return one(); }
fn identities() -> Nums {
  var n: Nums;
  for (var j = 0u; j < PER_UNIT; j++) { n[j] = identity(); }
  return n;
}
