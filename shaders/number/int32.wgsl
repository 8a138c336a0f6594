// The data type INT32: elements in the class i32.
fn int32_decode(bits: vec2<u32>) -> i32 { return bitcast<i32>(bits.x); }
fn int32_encode(v: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn int32_wrap(v: i32) -> i32 { return v; }
