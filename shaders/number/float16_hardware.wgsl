// The data type FLOAT16 converted by the hardware: only for adapters that are known to round to
// nearest, ties to even, to overflow to infinity and to keep denormals, as float16.wgsl does.
fn float16_decode4(h: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(h.x | (h.y << 16u)), unpack2x16float(h.z | (h.w << 16u)));
}
fn float16_encode4(v: vec4<f32>) -> vec4<u32> {
  let words = vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
  return vec4<u32>(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u);
}
fn float16_decode(bits: vec2<u32>) -> f32 { return unpack2x16float(bits.x).x; }
fn float16_encode(v: f32) -> vec2<u32> {
  return vec2<u32>(pack2x16float(vec2<f32>(v, 0.0)), 0u);
}
// By integer operations: a compiler may take packing and unpacking for nothing.
fn float16_wrap(v: f32) -> f32 {
  let bits = bitcast<u32>(v);
  let magnitude = bits & 0x7fffffffu;
  // From 2^-14 to what is rounded to the largest number.
  if (magnitude - 0x38800000u < 0x0efff000u) {
    return bitcast<f32>((bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u);
  }
  if (magnitude < 0x38800000u) { return round(v * 16777216.0) * 5.9604644775390625e-8; }
  return bitcast<f32>(select(bits, (bits & 0x80000000u) | 0x7f800000u, magnitude < 0x7f800000u));
}
