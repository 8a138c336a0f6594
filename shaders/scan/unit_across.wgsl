// The 16 bytes that begin `bits` bits into a unit and go on in the next: whole words, or halves of them.
fn unit_across(unit: vec4<u32>, next: vec4<u32>, bits: u32, halves: bool) -> vec4<u32> {
  let by_two = (bits & 64u) != 0u;
  let by_word = (bits & 32u) != 0u;
  var words = select(unit, vec4<u32>(unit.zw, next.xy), by_two);
  let behind = select(next.xy, next.zw, by_two);
  words = select(words, vec4<u32>(words.yzw, behind.x), by_word);
  if (halves) {
    let low = words >> vec4<u32>(16u);
    let high = vec4<u32>(words.yzw, select(behind.x, behind.y, by_word)) << vec4<u32>(16u);
    words = select(words, low | high, (bits & 16u) != 0u);
  }
  return words;
}
