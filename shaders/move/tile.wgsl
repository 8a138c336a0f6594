// Moves a tile of elements through workgroup memory: read in the order of the source, written in the
// order of the output, so that both are walked along neighbouring addresses whatever the layouts.
// The plan writes `Tile`, `tile_at` and, for each side, where run `r` of a tile begins and where its
// `t`-th element lies: from_source_run, from_source_step, from_output_run and from_output_step.
#param out_base: u32
#param counts: array<vec4<u32>, 2> // tiles along each loop
#import loops
#import take_in
#import put_out
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;

// Where an element is: in a tensor, counted from where the run or the tile begins, and in `held`.
struct Spot {
  address: u32,
  held: u32,
  inside: bool,
}

fn both(run: Spot, step: Spot) -> Spot {
  return Spot(run.address + step.address, run.held + step.held, run.inside && step.inside);
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  if (number >= params.count) { return; }
  let tile = tile_at(number);
  take_in(tile, lane);
  workgroupBarrier();
  put_out(tile, lane);
}
