// Copies: every output address takes one input element, found by strides alone.
#param run: u32 // how kernels divide the work, as they say
#param team: u32
#import loops
#import move

fn tuple_stride(d: u32) -> u32 { return 0u; }

fn resolve(source: u32, tuple_at: u32) -> u32 { return source; }
