// 16 bytes at a time, all strides in units.
#bind read input: vec4<u32>
#bind write output: vec4<u32>

fn move_one(id: u32) {
  let at = ends(id, 0u);
  store_output(at.address, load_input(at.source));
}
