// How elements become keys, from the parameters.
fn rule_of_params() -> key_rule {
  return key_rule(
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
