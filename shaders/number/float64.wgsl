// The data type FLOAT64: elements in the class f64, which holds their bits as they are.
fn float64_decode(bits: vec2<u32>) -> vec2<u32> { return bits; }
fn float64_encode(v: vec2<u32>) -> vec2<u32> { return v; }
fn float64_wrap(v: vec2<u32>) -> vec2<u32> { return v; }
