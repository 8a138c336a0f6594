// Elements of a tile one by one, in the order of the output.
#bind write output: u32

fn put_out(tile: Tile, lane: u32) {
  for (var k = lane; k < ELEMENTS; k += WG_SIZE) {
    let spot = both(from_output_run(k / OUTPUT_RUN, tile), from_output_step(k % OUTPUT_RUN, tile));
    if (spot.inside) {
      for (var word = 0u; word < BITS / 32u; word++) {
        store_output(spot.address * (BITS / 32u) + word, held[spot.held + word * PLANE]);
      }
    }
  }
}
