// Which source element an output address takes, by dividing the address by the strides in turn.
// Needs tuple_stride.
#import divide
override RANK: u32 = 1;

struct Place {
  source: u32,
  tuple_at: u32,
  inner: u32, // coordinate in the innermost loop; beyond its size in a gap
  in_gap: bool, // an outer coordinate is beyond its size
}

fn source_stride(d: u32) -> u32 { return params.source_strides[d / 4u][d % 4u]; }

fn place(address: u32) -> Place {
  var rest = address;
  var at = Place(params.source_base, 0u, 0u, false);
  #repeat 7: if (RANK > $u + 1u) { let c = by_out_stride(rest, $u); rest -= c * params.out_strides[$u / 4u][$u % 4u]; at.source += c * source_stride($u); at.tuple_at += c * tuple_stride($u); at.in_gap = at.in_gap || c >= params.sizes[$u / 4u][$u % 4u]; }
  at.inner = rest;
  at.source += rest * source_stride(RANK - 1u);
  at.tuple_at += rest * tuple_stride(RANK - 1u);
  return at;
}

fn is_element(at: Place) -> bool {
  let inner = RANK - 1u;
  return !at.in_gap && at.inner < params.sizes[inner / 4u][inner % 4u];
}
