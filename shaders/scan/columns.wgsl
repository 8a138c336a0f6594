// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT along an outer axis: one invocation walks the axis with
// 16 bytes of neighbouring lines, so neighbours read neighbours.
override WG_SIZE: u32 = 128;
override BATCH: u32 = 2; // steps that are loaded together; four batches are under way. 0: one by one

#param columns: u32
#import side_by_side
#import num
#import fold
#import lines
#import columns
#import step_down

@compute @workgroup_size(WG_SIZE)
fn main(at: Invocation) {
  let columns = columns_for(at);
  if (!columns.here) { return; }
  var sum = beginnings(columns);
  let last = params.axis_size - 1u;
  let source = columns.source;
  var target_ = columns.target_;
  if (BATCH == 0u) { // a CPU reads ahead by itself
    var from_ = source;
    for (var step = 0u; step <= last; step++) {
      sum = step_down(target_, columns, sum, load_columns(from_, columns), from_);
      from_ += params.in_step;
      target_ += params.out_step;
    }
    return;
  }
  #repeat 4: var a$ = vec4<u32>(); if (BATCH > $u) { a$ = load_columns(source + min($u, last) * params.in_step, columns); }
  #repeat 4: var b$ = vec4<u32>(); if (BATCH > $u) { b$ = load_columns(source + min(BATCH + $u, last) * params.in_step, columns); }
  #repeat 4: var c$ = vec4<u32>(); if (BATCH > $u) { c$ = load_columns(source + min(2u * BATCH + $u, last) * params.in_step, columns); }
  #repeat 4: var d$ = vec4<u32>(); if (BATCH > $u) { d$ = load_columns(source + min(3u * BATCH + $u, last) * params.in_step, columns); }
  // Each batch is written, and its successor asked for while the other three are on their way.
  for (var first = 0u; first <= last; first += 4u * BATCH) {
    let next = first + 4u * BATCH;
    #repeat 4: if (BATCH > $u && first + $u <= last) { sum = step_down(target_ + $u * params.out_step, columns, sum, a$, source + (first + $u) * params.in_step); }
    #repeat 4: if (BATCH > $u) { a$ = load_columns(source + min(next + $u, last) * params.in_step, columns); }
    #repeat 4: if (BATCH > $u && first + BATCH + $u <= last) { sum = step_down(target_ + (BATCH + $u) * params.out_step, columns, sum, b$, source + (first + BATCH + $u) * params.in_step); }
    #repeat 4: if (BATCH > $u) { b$ = load_columns(source + min(next + BATCH + $u, last) * params.in_step, columns); }
    #repeat 4: if (BATCH > $u && first + 2u * BATCH + $u <= last) { sum = step_down(target_ + (2u * BATCH + $u) * params.out_step, columns, sum, c$, source + (first + 2u * BATCH + $u) * params.in_step); }
    #repeat 4: if (BATCH > $u) { c$ = load_columns(source + min(next + 2u * BATCH + $u, last) * params.in_step, columns); }
    #repeat 4: if (BATCH > $u && first + 3u * BATCH + $u <= last) { sum = step_down(target_ + (3u * BATCH + $u) * params.out_step, columns, sum, d$, source + (first + 3u * BATCH + $u) * params.in_step); }
    #repeat 4: if (BATCH > $u) { d$ = load_columns(source + min(next + 3u * BATCH + $u, last) * params.in_step, columns); }
    target_ += 4u * BATCH * params.out_step;
  }
}
