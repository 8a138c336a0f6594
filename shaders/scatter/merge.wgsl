// Scatters, second half: every piece of the output takes the update that has won its place, or else
// the input. An address that is not wanted becomes 0, which costs nothing: no load has to wait for a
// branch.
#param count: u32 // pieces
#param update_step: u32 // through the updates, from one index tuple to the next
#param sizes: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
#param source_strides: array<vec4<u32>, 2>
#param table_strides: array<vec4<u32>, 2>
#param block_strides: array<vec4<u32>, 2> // through what one tuple moves
#bind read winners: u32
#import piece
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;

struct Spot { out: u32, source: u32, place: u32, update: u32 }

fn moved(at: Spot, c: u32, d: u32) -> Spot {
  return Spot(at.out + c * params.out_strides[d / 4u][d % 4u], at.source + c * params.source_strides[d / 4u][d % 4u],
    at.place + c * params.table_strides[d / 4u][d % 4u], at.update + c * params.block_strides[d / 4u][d % 4u]);
}

fn spot_of(id: u32) -> Spot {
  var rest = id;
  var at = Spot(0u, 0u, 0u, 0u);
  #repeat 7: if (RANK > $u + 1u) { let d = max(RANK, $u + 2u) - 1u - $u; let q = rest / params.sizes[d / 4u][d % 4u]; at = moved(at, rest - q * params.sizes[d / 4u][d % 4u], d); rest = q; }
  return moved(at, rest, 0u);
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let first = (group.x + group.y * groups.x) * 4u * WG_SIZE + lane;
  #repeat 4: let at$ = spot_of(min(first + $u * WG_SIZE, params.count - 1u));
  #repeat 4: let w$ = load_winners(at$.place);
  #repeat 4: let v$ = piece(at$.source, at$.update + (max(w$, 1u) - 1u) * params.update_step, w$ != 0u);
  #repeat 4: if (first + $u * WG_SIZE < params.count) { put(at$.out, v$); }
}
