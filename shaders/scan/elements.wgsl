// Single elements of an input of any layout. Needs num.
#bind read input: u32
override BITS: u32 = 32;

fn value_at(e: u32) -> Num {
  if (BITS == 64u) { return decode(vec2<u32>(load_input(2u * e), load_input(2u * e + 1u))); }
  if (BITS == 32u) { return decode(vec2<u32>(load_input(e), 0u)); }
  return decode(vec2<u32>((load_input(e / 2u) >> (e % 2u * 16u)) & 0xffffu, 0u));
}
