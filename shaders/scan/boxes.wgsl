// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT between layouts of any kind: a workgroup takes boxes of
// some lines by STEPS steps, one below the other. It reads a box in the order of the input, scans
// its lines, and writes it in the order of the output, so that neighbours read and write neighbours
// on both sides. Between these steps elements are in workgroup memory, except where lines are
// neighbours on that side. A walk along the output writes whole sectors, or whole words: the last
// MARGIN steps of a box are kept for the next. Lines of several segments take three passes, as in
// walk.wgsl. A box is read before it is written, so it may run in place where boxes do not overlap.
// The box, `box_at`, and what the passes call are written by dmlgpu/plan/scan/box_code.py, and for
// halves by dmlgpu/plan/scan/box_halves.py.
override WG_SIZE: u32 = 256;
override EXCLUSIVE: bool = false;

#param count: u32 // boxes side by side, of all segments
#param segment_steps: u32 // a multiple of STEPS
#param in_base: u32 // addresses of the first element of the first line
#param out_base: u32
#param sizes: array<vec4<u32>, 2> // of the loops, the axis among them
#param counts: array<vec4<u32>, 2> // of boxes or segments along each loop
#param in_strides: array<vec4<u32>, 2>
#param out_strides: array<vec4<u32>, 2>
#param partial_strides: array<vec4<u32>, 2> // from one line, or one segment, to the next
#import invocation/in_workgroup
#import num
#import partials
#import fold
#import elements
#import passes
