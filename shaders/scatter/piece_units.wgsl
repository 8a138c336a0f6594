// Pieces of 16 bytes.
#bind read input: vec4<u32>
#bind read updates: vec4<u32>
#bind write output: vec4<u32>

fn piece(place: u32, update: u32, is_updated: bool) -> vec4<u32> {
  let a = load_input(select(place, 0u, is_updated));
  let b = load_updates(select(0u, update, is_updated));
  return select(a, b, is_updated);
}

fn put(address: u32, v: vec4<u32>) { store_output(address, v); }
