// 16 bytes made of other 16 or 32, for elements of BITS bits. Multiplications stand for shifts to the
// left, which some drivers of CPU adapters do lane by lane.

// 16 bytes with their elements in reverse order.
fn reversed(v: vec4<u32>) -> vec4<u32> {
  if (BITS == 64u) { return v.zwxy; }
  if (BITS == 32u) { return v.wzyx; }
  let halves = (v.wzyx >> vec4<u32>(16u)) | (v.wzyx * 65536u);
  if (BITS == 16u) { return halves; }
  return ((halves >> vec4<u32>(8u)) & vec4<u32>(0x00ff00ffu))
    | ((halves & vec4<u32>(0x00ff00ffu)) * 256u);
}

// Every second element of 32 bytes.
fn every_second(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
  if (BITS == 64u) { return vec4<u32>(a.xy, b.xy); }
  if (BITS == 32u) { return vec4<u32>(a.xz, b.xz); }
  if (BITS == 16u) {
    return (vec4<u32>(a.xz, b.xz) & vec4<u32>(0xffffu)) | (vec4<u32>(a.yw, b.yw) * 65536u);
  }
  let c = squeezed(a);
  let d = squeezed(b);
  return (vec4<u32>(c.xz, d.xz) >> vec4<u32>(8u)) | (vec4<u32>(c.yw, d.yw) * 256u);
}

// Bytes 0 and 2 of each word, in the middle.
fn squeezed(v: vec4<u32>) -> vec4<u32> {
  return ((v & vec4<u32>(0x00ff00ffu)) * 257u) & vec4<u32>(0x00ffff00u);
}
