// The data type UINT32: elements in the class u32.
fn uint32_decode(bits: vec2<u32>) -> u32 { return bits.x; }
fn uint32_encode(v: u32) -> vec2<u32> { return vec2<u32>(v, 0u); }
fn uint32_wrap(v: u32) -> u32 { return v; }
