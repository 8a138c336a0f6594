// x as n * ln(2) + r with |r| up to ln(2) / 2: the number n, then r; for |x| up to 128.
fn math_exp_reduce(x: f32) -> vec2<f32> {
  let n = round(x * 1.442695);
  // The first part of ln(2) has 15 bits, so its product with n is exact.
  let r = (x - n * 0.693145751953125) - n * 1.4286068e-6;
  return vec2<f32>(n, r);
}
