// Copies: every output address takes one input element, found by strides alone.
struct Params {
  count: u32,
  source_base: u32,
  run: u32, // how kernels for CPU adapters divide the work
  team: u32,
  sizes: array<vec4<u32>, 2>,
  out_strides: array<vec4<u32>, 2>,
  source_strides: array<vec4<u32>, 2>,
}
@group(0) @binding(0) var<uniform> params: Params;
#import move

fn tuple_stride(d: u32) -> u32 { return 0u; }

fn resolve(source: u32, tuple_at: u32) -> u32 { return source; }
