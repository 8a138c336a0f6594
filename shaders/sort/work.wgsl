// What the kernels that sort share: lines of a tensor, cut into segments. All that differs between
// types, directions and sizes is in the parameters, so that few pipelines serve them all.
#param first_line: u32 // of the tensors; scratch memory begins with it
#param segments: u32 // of all lines
#param chunks: u32 // segments of a line
#param length: u32 // items of a line
#param kept: u32 // items of a line, or of a segment, that are written
#param room: u32 // log2 of the items that a segment has room for
#param run: u32 // log2 of the most items that a run keeps
#param shift: u32 // of the digit that a pass sorts by
#param digit_bits: u32
#param per_lane: u32 // items of an invocation
#param bits: u32 // of an element
#param word_shift: u32 // log2 of the elements in a word
#param sign: u32 // the highest bit of an element
#param negative_zero: u32 // the element that is 0 too
#param infinity: u32 // without its sign, above which an element is NaN
#param flip: u32 // bits of elements that are turned, so that keys are in order
#param flip_low: u32 // of the low word, where there are two
#param flip_negative: u32 // of negative elements
#param flip_negative_low: u32
#param unordered: u32 // the key of NaN
#param index_words: u32
#param rank: u32 // number of loops over the lines
#param in_step: u32 // elements from one of a line to the next
#param out_step: u32
#param in_plane: u32 // words of scratch memory from one word of an item to the next
#param out_plane: u32
#param sizes: array<vec4<u32>, 2> // of the loops over the lines
#param in_strides: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
#param value_step: u32
#param value_strides: array<vec4<u32>, 2>
override WG_SIZE: u32 = 64;

// Where a line begins in the input, in the places and in the values.
fn line_starts(line: u32) -> vec3<u32> {
  var rest = params.first_line + line;
  var starts = vec3<u32>(0u);
  for (var d = params.rank - 1u; d > 0u; d--) {
    let size = params.sizes[d / 4u][d % 4u];
    starts += rest % size * line_steps(d);
    rest /= size;
  }
  return starts + rest * line_steps(0u);
}

fn line_steps(d: u32) -> vec3<u32> {
  let i = d / 4u;
  let k = d % 4u;
  return vec3<u32>(params.in_strides[i][k], params.out_strides[i][k], params.value_strides[i][k]);
}
