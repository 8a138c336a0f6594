// Elements of a tile one by one, in the order of the source; four of an invocation at once.
#bind read input: u32

fn source_spot(k: u32, tile: Tile) -> Spot {
  let spot = both(from_source_run(k / SOURCE_RUN, tile), from_source_step(k % SOURCE_RUN, tile));
  let inside = spot.inside && k < ELEMENTS;
  return Spot(select(tile.source, spot.address, inside), spot.held, inside);
}

fn take_in(tile: Tile, lane: u32) {
  for (var first = lane; first < ELEMENTS; first += 4u * WG_SIZE) {
    #repeat 4: let s$ = source_spot(first + $u * WG_SIZE, tile);
    if (BITS < 32u) {
      let per_word = 32u / BITS;
      #repeat 4: let w$ = load_input(s$.address / per_word) >> (s$.address % per_word * BITS);
      #repeat 4: if (s$.inside) { held[s$.held] = w$ & ((1u << (BITS % 32u)) - 1u); }
    } else {
      for (var word = 0u; word < BITS / 32u; word++) {
        #repeat 4: let w$ = load_input(s$.address * (BITS / 32u) + word);
        #repeat 4: if (s$.inside) { held[s$.held + word * PLANE] = w$; }
      }
    }
  }
}
