// The data type INT16: elements in the class i32.
fn int16_decode(bits: vec2<u32>) -> i32 { return int16_wrap(bitcast<i32>(bits.x)); }
fn int16_encode(v: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v) & 0xffffu, 0u); }
fn int16_wrap(v: i32) -> i32 { return (v << 16u) >> 16u; }
