// The data type FLOAT32: elements in the class f32.
fn float32_decode(bits: vec2<u32>) -> f32 { return bitcast<f32>(bits.x); }
fn float32_encode(v: f32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(v), 0u); }
fn float32_wrap(v: f32) -> f32 { return v; }
