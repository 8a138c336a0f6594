// Running sums of floats. What they begin with is -0.0, the float that changes no other, so that a sum
// of zeros is -0.0 where all of them are; where a beginning is written it is +0.0, and so are such sums.
// It comes from outside: compilers that know it take 0.0 + x for x, or -0.0 for +0.0.
#param nothing: f32
fn combine(a: Num, b: Num) -> Num { return add(a, b); }
fn identity() -> Num { return params.nothing; }
