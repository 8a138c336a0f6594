// The data type UINT8: elements in the class u32.
fn uint8_decode(bits: vec2<u32>) -> u32 { return bits.x; }
fn uint8_encode(v: u32) -> vec2<u32> { return vec2<u32>(v & 0xffu, 0u); }
fn uint8_wrap(v: u32) -> u32 { return v & 0xffu; }
