// Columns whose rows are whole pairs of words: an invocation takes two pairs that are as far apart as
// there are invocations side by side, as in columns_of_words.wgsl. All addresses and strides are in
// pairs.
#import columns_unframed
#bind read input: vec2<u32>
#bind write output: vec2<u32>
alias Address = vec2<u32>;

struct Columns {
  source: Address, // of the first step
  target_: Address,
  here: bool, // of any of the pairs
  number: vec2<u32>, // of each pair, among all lines
}

// Those of invocation `x` among `width` side by side, the first of which has number `first`.
fn columns_at(first: u32, x: u32, width: u32) -> Columns {
  let number = 2u * first + x + vec2<u32>(0u, width);
  let last = params.columns - 1u;
  let a = line_at(min(number.x, last));
  let b = line_at(min(number.y, last));
  let here = number.x < params.columns;
  return Columns(vec2<u32>(a.source, b.source), vec2<u32>(a.target_, b.target_), here, number);
}

fn load_columns(at: Address, columns: Columns) -> vec4<u32> {
  return vec4<u32>(load_input(at.x), load_input(at.y));
}

fn store_columns(at: Address, columns: Columns, unit: vec4<u32>) {
  store_output(at.x, unit.xy);
  if (columns.number.y < params.columns) { store_output(at.y, unit.zw); }
}
