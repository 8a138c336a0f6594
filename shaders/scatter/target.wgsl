// What a tuple of index values names: a place in the table of winners and one in the output.
// Needs load_indices.
#param count: u32
#param index_step: u32 // index elements between the coordinates of one tuple
#param table_first: u32 // place that the table begins with
#param table_size: u32
#param sizes: array<vec4<u32>, 2>
#param tuple_strides: array<vec4<u32>, 2>
#param table_strides: array<vec4<u32>, 2>
#param gather_sizes: array<vec4<u32>, 2> // of the dimensions the coordinates select from
#param gather_table: array<vec4<u32>, 2>
override RANK: u32 = 1;
override TUPLE: u32 = 1; // coordinates per tuple
#import coordinate
