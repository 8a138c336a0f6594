// Columns whose rows are whole units: an invocation takes 16 bytes of neighbouring lines. All
// addresses and strides are in units.
#import columns_unframed
#bind read input: vec4<u32>
#bind write output: vec4<u32>
alias Address = u32;

struct Columns {
  source: Address, // of the first step
  target_: Address,
  here: bool, // beside the last column there is nothing to do
}

// Those of invocation `x` among `width` side by side, the first of which has number `first`.
fn columns_at(first: u32, x: u32, width: u32) -> Columns {
  let line = line_at(min(first + x, params.columns - 1u));
  return Columns(line.source, line.target_, first + x < params.columns);
}

fn load_columns(at: Address, columns: Columns) -> vec4<u32> { return load_input(at); }

fn store_columns(at: Address, columns: Columns, unit: vec4<u32>) { store_output(at, unit); }
