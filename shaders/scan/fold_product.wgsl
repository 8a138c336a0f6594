// Running products.
fn combine(a: Num, b: Num) -> Num { return mul(a, b); }
fn identity() -> Num { return one(); }
