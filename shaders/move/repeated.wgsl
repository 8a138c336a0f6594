// Units that the output has several times, params.run units apart: the loop that steps most through it
// stays where it is in the source.
override REPEATS: u32 = 1;

fn store_repeated(unit: u32, v: vec4<u32>) {
  #repeat 8: if (REPEATS > $u && unit + $u * params.run < params.count) { store_output(unit + $u * params.run, v); }
}
