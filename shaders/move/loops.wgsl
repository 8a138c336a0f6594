// The loops of a move, and its steps through both tensors.
#param count: u32 // what there is to make: units, rows or tiles, as the kernel says
#param source_base: u32
#param sizes: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
#param source_strides: array<vec4<u32>, 2>
