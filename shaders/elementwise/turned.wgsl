// Two words of halves, or four of bytes, with their rows made columns.
fn turned16(v: vec2<u32>) -> vec2<u32> {
  return vec2<u32>((v.x & 0xffffu) | (v.y << 16u), (v.x >> 16u) | (v.y & 0xffff0000u));
}

fn turned8(v: vec4<u32>) -> vec4<u32> {
  let even = (v.xz & vec2<u32>(0x00ff00ffu)) | ((v.yw & vec2<u32>(0x00ff00ffu)) << vec2<u32>(8u));
  let odd = ((v.xz >> vec2<u32>(8u)) & vec2<u32>(0x00ff00ffu)) | (v.yw & vec2<u32>(0xff00ff00u));
  let a = turned16(even);
  let b = turned16(odd);
  return vec4<u32>(a.x, b.x, a.y, b.y);
}
