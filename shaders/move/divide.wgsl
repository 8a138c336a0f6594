// A number divided by the step of a loop through the output.
fn by_out_stride(n: u32, d: u32) -> u32 { return n / params.out_strides[d / 4u][d % 4u]; }
