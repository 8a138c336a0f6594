// The data type UINT16: elements in the class u32.
fn uint16_decode(bits: vec2<u32>) -> u32 { return bits.x; }
fn uint16_encode(v: u32) -> vec2<u32> { return vec2<u32>(v & 0xffffu, 0u); }
fn uint16_wrap(v: u32) -> u32 { return v & 0xffffu; }
