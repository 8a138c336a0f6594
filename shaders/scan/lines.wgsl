// The lines of a scan. Needs params.{in_base, out_base, sizes, in_strides, out_strides}.
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
