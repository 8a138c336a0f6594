// Gathers: an output address names an index tuple, and an element of the block that the tuple picks.
override TUPLE: u32 = 1; // coordinates per tuple

#param run: u32 // how kernels divide the work, as they say
#param team: u32
#param index_step: u32 // index elements between the coordinates of one tuple
#param tuple_strides: array<vec4<u32>, 2>
#param gather_sizes: array<vec4<u32>, 2> // of the input dimensions the coordinates select from
#param gather_strides: array<vec4<u32>, 2>
#import loops
#import move
#import indices
#import resolve

fn tuple_stride(d: u32) -> u32 { return params.tuple_strides[d / 4u][d % 4u]; }

// Index value `i` as a coordinate of a dimension of `size`.
fn coordinate_at(i: u32, size: u32) -> u32 {
  if (INDEX_WORDS == 1u) { return coordinate(index_word(i), 0u, size); }
  return coordinate(index_word(2u * i), index_word(2u * i + 1u), size);
}
