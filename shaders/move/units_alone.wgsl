// Units of the output that no other workgroup writes.
#bind write output: vec4<u32>

fn put(unit: u32, bits: vec4<u32>) { store_output(unit, bits); }
