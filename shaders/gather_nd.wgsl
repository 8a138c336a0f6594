// GATHER_ND, GATHER_ND1: an output address names an index tuple and an element behind it.
override TUPLE: u32 = 1; // coordinates per tuple

struct Params {
  count: u32,
  source_base: u32,
  index_step: u32, // index elements between the coordinates of one tuple
  sizes: array<vec4<u32>, 2>,
  out_strides: array<vec4<u32>, 2>,
  source_strides: array<vec4<u32>, 2>,
  tuple_strides: array<vec4<u32>, 2>,
  gather_sizes: array<vec4<u32>, 2>, // of the input dimensions the coordinates select from
  gather_strides: array<vec4<u32>, 2>,
}
@group(0) @binding(0) var<uniform> params: Params;
#bind read indices: u32
#import move
#import index

fn tuple_stride(d: u32) -> u32 { return params.tuple_strides[d / 4u][d % 4u]; }

// Input element that `source` becomes when the tuple's coordinates are added.
fn resolve(source: u32, tuple_at: u32) -> u32 {
  var at = source;
  #repeat 8: if (TUPLE > $u) { at += coordinate(tuple_at + $u * params.index_step, params.gather_sizes[$u / 4u][$u % 4u]) * params.gather_strides[$u / 4u][$u % 4u]; }
  return at;
}
