// A number divided by the step of a loop through the output, as a product: `divided` is that of
// dmlgpu/plan/rows.py. Drivers of CPU adapters divide lane by lane.
#param magics: array<vec4<u32>, 2>
#param shifts: array<vec4<u32>, 2>
fn by_out_stride(n: u32, d: u32) -> u32 {
  return divided(n, params.magics[d / 4u][d % 4u], params.shifts[d / 4u][d % 4u]);
}
