// The lines of a scan.
#param lines: u32 // all of them
#param axis_size: u32 // elements of a line
#param in_base: u32 // addresses of the first element of the first line
#param out_base: u32
#param in_step: u32 // from one element of a line to the next
#param out_step: u32
#param sizes: array<vec4<u32>, 2> // of the dimensions beside the axis
#param in_strides: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
override RANK: u32 = 1; // dimensions beside the axis

struct Line {
  source: u32, // addresses of the first element walked
  target_: u32,
}

fn line_at(number: u32) -> Line {
  var line = Line(params.in_base, params.out_base);
  var rest = number;
  for (var k = 0u; k < RANK; k++) {
    let d = RANK - 1u - k;
    var c = rest;
    if (d > 0u) {
      let size = params.sizes[d / 4u][d % 4u];
      c = rest % size;
      rest /= size;
    }
    line.source += c * params.in_strides[d / 4u][d % 4u];
    line.target_ += c * params.out_strides[d / 4u][d % 4u];
  }
  return line;
}
