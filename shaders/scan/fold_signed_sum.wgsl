// Running sums of floats without a first element to write: -0.0 is the float that changes no other,
// so a sum of zeros is -0.0 where all of them are. It comes from outside, since compilers that know
// it may take it for +0.0.
#param negative_zero: f32
fn combine(a: Num, b: Num) -> Num { return add(a, b); }
fn identity() -> Num { return params.negative_zero; }
