// Runs of units of 16 bytes, several of them an invocation.
#param run: u32 // units
#param turns: u32 // invocations that share a run
#bind read updates: vec4<u32>
#bind write output: vec4<u32>
override EACH: u32 = 8; // units of an invocation

fn put(address: u32, source: u32, id: u32) {
  let first = id % params.turns * EACH;
  for (var k = first; k < min(first + EACH, params.run); k++) {
    store_output(address + k, load_updates(source + k));
  }
}
