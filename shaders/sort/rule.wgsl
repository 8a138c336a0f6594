// How elements become keys, from the parameters.
fn key_rule() -> KeyRule {
  return KeyRule(
    params.sign,
    params.negative_zero,
    params.infinity,
    params.flip,
    params.flip_low,
    params.flip_negative,
    params.flip_negative_low,
    params.unordered,
  );
}
