// What a product leaves of a number: a - b * c, where b has no more than 12 bits. Products of b and of
// either half of c are exact, so it does not matter whether a driver rounds them.
fn rest_of(a: f32, b: f32, c: f32) -> f32 {
  let high = f32_high(c);
  return (a - b * high) - b * (c - high);
}
