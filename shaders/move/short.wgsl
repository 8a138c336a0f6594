// Copies short rows of whole units on a CPU adapter. Neighbouring invocations take neighbouring
// rows, so that as many places of the source are waited for at once; each walks its rows without a
// division or a branch. There are one or two loops.
// Needs tuple_stride and resolve.
#import invocation/in_workgroup
#bind read input: vec4<u32>
#bind write output: vec4<u32>
override WG_SIZE: u32 = 64;
override CHUNK: u32 = 1; // units moved at a time: 1, 2 or 4, of which a row is a multiple

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let team = group_of(me) * (WG_SIZE / params.team) + me.lane / params.team;
  let size = params.sizes[0].y;
  let end = min((team + 1u) * params.team * params.run, params.count);
  var inner = 0u;
  for (var row = team * params.team * params.run + me.lane % params.team; row < end;) {
    let source = params.source_base + row * params.source_strides[0].x;
    let e = resolve(source, row * tuple_stride(0u)) + inner;
    let unit = row * params.out_strides[0].x + inner;
    #repeat 4: var v$ = vec4<u32>(); if (CHUNK > $u) { v$ = load_input(e + $u); }
    #repeat 4: if (CHUNK > $u) { store_output(unit + $u, v$); }
    inner += CHUNK;
    let is_done = inner == size;
    inner = select(inner, 0u, is_done);
    row += select(0u, params.team, is_done);
  }
}
