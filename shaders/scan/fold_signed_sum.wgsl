// Running sums of floats without a first element to write: -0.0 is the float that changes no other,
// so a sum of zeros is -0.0 where all of them are.
fn combine(a: Num, b: Num) -> Num { return add(a, b); }
fn identity() -> Num { return -0.0; }
