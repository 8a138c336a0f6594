// The data type UINT64: elements in the class u64, which holds their bits as they are.
fn uint64_decode(bits: vec2<u32>) -> vec2<u32> { return bits; }
fn uint64_encode(v: vec2<u32>) -> vec2<u32> { return v; }
fn uint64_wrap(v: vec2<u32>) -> vec2<u32> { return v; }
