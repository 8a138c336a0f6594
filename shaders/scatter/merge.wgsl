// Scatters, second half: every piece of the output takes the update that has won its place, or else
// the input. An address that is not wanted becomes 0, which costs nothing: no load has to wait for a
// branch.
#param count: u32 // pieces
#param update_step: u32 // through the updates, from one index tuple to the next
#param out_strides: array<vec4<u32>, 2>
#param source_strides: array<vec4<u32>, 2>
#param table_strides: array<vec4<u32>, 2>
#param block_strides: array<vec4<u32>, 2> // through what one tuple moves
#bind read winners: u32
#import invocation/in_workgroup
#import piece
#import walk
override WG_SIZE: u32 = 256;

struct Spot { out: u32, source: u32, place: u32, update: u32 }

fn steps(d: u32) -> vec4<u32> {
  let i = d / 4u;
  let k = d % 4u;
  return vec4<u32>(params.out_strides[i][k], params.source_strides[i][k], params.table_strides[i][k], params.block_strides[i][k]);
}

fn spot_of(id: u32) -> Spot {
  let at = walked(id);
  return Spot(at.x, at.y, at.z, at.w);
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let first = group_of(me) * 4u * WG_SIZE + me.lane;
  #repeat 4: let at$ = spot_of(min(first + $u * WG_SIZE, params.count - 1u));
  #repeat 4: let w$ = load_winners(at$.place);
  #repeat 4: let v$ = piece(at$.source, at$.update + (max(w$, 1u) - 1u) * params.update_step, w$ != 0u);
  #repeat 4: if (first + $u * WG_SIZE < params.count) { put(at$.out, v$); }
}
