// The data type INT64: elements in the class i64, which holds their bits as they are.
fn int64_decode(bits: vec2<u32>) -> vec2<u32> { return bits; }
fn int64_encode(v: vec2<u32>) -> vec2<u32> { return v; }
fn int64_wrap(v: vec2<u32>) -> vec2<u32> { return v; }
