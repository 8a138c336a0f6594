// What each invocation of one workgroup knows of its subgroup, and of its neighbours' numbers.
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;

@compute @workgroup_size(256)
fn main(
  @builtin(local_invocation_index) number: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) lane: u32,
  @builtin(subgroup_id) group: u32,
) {
  let mine = given[number];
  let before = subgroupShuffleUp(mine, 1u);
  let after = subgroupShuffleDown(mine, 1u);
  let across = subgroupShuffleXor(mine, 1u);
  let at = 7u * number;
  found[at] = size;
  found[at + 1u] = lane;
  found[at + 2u] = group;
  found[at + 3u] = mine;
  found[at + 4u] = before;
  found[at + 5u] = after;
  found[at + 6u] = across;
}
