// The elements of an invocation that are not zero, as bits; one after the other.
fn found_from(first: u32) -> u32 {
  var found = 0u;
  for (var k = 0u; k < min(PER_LANE, params.count - min(first, params.count)); k++) {
    found |= u32(element(address(first + k)) != 0u) << k;
  }
  return found;
}
