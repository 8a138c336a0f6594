// The data type INT8: elements in the class i32.
fn int8_decode(bits: vec2<u32>) -> i32 { return int8_wrap(bitcast<i32>(bits.x)); }
fn int8_encode(v: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v) & 0xffu, 0u); }
fn int8_wrap(v: i32) -> i32 { return (v << 24u) >> 24u; }
