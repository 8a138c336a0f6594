// 16 bytes at a time.
#bind read updates: vec4<u32>
#bind write output: vec4<u32>

fn put(address: u32, source: u32, id: u32) { store_output(address, load_updates(source)); }
