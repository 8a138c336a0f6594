// The eight elements of an invocation that are not zero, as bits; all loads are under way at once.
fn found_from(first: u32) -> u32 {
  #repeat 8: let v$ = element(address(min(first + $u, params.count - 1u)));
  var found = 0u;
  #repeat 8: if (v$ != 0u && first + $u < params.count) { found |= 1u << $u; }
  return found;
}
