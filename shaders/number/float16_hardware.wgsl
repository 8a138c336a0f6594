// The data type FLOAT16 converted by the hardware: only for adapters that are known to round to
// nearest, ties to even, to overflow to infinity and to keep denormals, as float16.wgsl does.
fn float16_decode4(h: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(h.x | (h.y << 16u)), unpack2x16float(h.z | (h.w << 16u)));
}
fn float16_encode4(v: vec4<f32>) -> vec4<u32> {
  let words = vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
  return vec4<u32>(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u);
}
fn float16_pair(word: u32) -> vec2<f32> { return unpack2x16float(word); }
fn float16_word(v: vec2<f32>) -> u32 { return pack2x16float(v); }
fn float16_decode(bits: vec2<u32>) -> f32 { return unpack2x16float(bits.x).x; }
fn float16_encode(v: f32) -> vec2<u32> {
  return vec2<u32>(pack2x16float(vec2<f32>(v, 0.0)), 0u);
}
fn float16_eq(a: f32, b: f32) -> bool { return a == b; }
fn float16_lt(a: f32, b: f32) -> bool { return a < b; }
fn float16_le(a: f32, b: f32) -> bool { return a <= b; }
