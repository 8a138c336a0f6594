// Scatters along an axis: a workgroup takes some lines and finds out in workgroup memory which update
// wins each place of theirs. TEAM invocations work on a line; neighbours on neighbouring places of it,
// or where ACROSS on neighbouring lines.
#param lines: u32
#param length: u32 // places of a line
#param updates_length: u32
#param out_step: u32 // along the axis
#param source_step: u32
#param update_step: u32
#param index_step: u32
#param out_strides: array<vec4<u32>, 2>
#param source_strides: array<vec4<u32>, 2>
#param update_strides: array<vec4<u32>, 2>
#param tuple_strides: array<vec4<u32>, 2>
#bind read indices: u32
#import invocation/in_workgroup
#import coordinate
#import walk
#import piece
override WG_SIZE: u32 = 256;
override TEAM: u32 = 256;
override ACROSS: bool = false;
override PLACES: u32 = 1024;
override BESIDE: u32 = WG_SIZE / TEAM; // lines of a workgroup
var<workgroup> wg_winners: array<atomic<u32>, PLACES>;

struct Line { out: u32, source: u32, update: u32, tuple_at: u32 }

fn steps(d: u32) -> vec4<u32> {
  let i = d / 4u;
  let k = d % 4u;
  return vec4<u32>(params.out_strides[i][k], params.source_strides[i][k], params.update_strides[i][k], params.tuple_strides[i][k]);
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let lane = me.lane;
  let mine = select(lane / TEAM, lane % BESIDE, ACROSS);
  let first = select(lane % TEAM, lane / BESIDE, ACROSS);
  let number = group_of(me) * BESIDE + mine;
  let begin = walked(min(number, params.lines - 1u));
  let at = Line(begin.x, begin.y, begin.z, begin.w);
  let held = select(mine * params.length, mine, ACROSS); // where the line begins in workgroup memory
  let step = select(1u, BESIDE, ACROSS);
  for (var k = first; k < params.length; k += TEAM) { atomicStore(&wg_winners[held + k * step], 0u); }
  workgroupBarrier();
  for (var k = first; k < params.updates_length; k += 4u * TEAM) {
    #repeat 4: let c$ = coordinate(at.tuple_at + min(k + $u * TEAM, params.updates_length - 1u) * params.index_step, params.length);
    #repeat 4: if (k + $u * TEAM < params.updates_length && c$ < params.length) { atomicMax(&wg_winners[held + c$ * step], k + $u * TEAM + 1u); }
  }
  workgroupBarrier();
  if (number >= params.lines) { return; }
  for (var k = first; k < params.length; k += 4u * TEAM) {
    #repeat 4: let p$ = min(k + $u * TEAM, params.length - 1u); let w$ = atomicLoad(&wg_winners[held + p$ * step]);
    #repeat 4: let v$ = piece(at.source + p$ * params.source_step, at.update + (max(w$, 1u) - 1u) * params.update_step, w$ != 0u);
    #repeat 4: if (k + $u * TEAM < params.length) { put(at.out + p$ * params.out_step, v$); }
  }
}
