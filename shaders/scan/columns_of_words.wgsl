// Columns whose rows are whole words: an invocation takes four words that are as far apart as there
// are invocations side by side, so that neighbours read and write neighbours wherever a row begins.
// Elements of 64 bits stay together. All addresses and strides are in words.
#import columns_unframed
#bind read input: u32
#bind write output: u32
alias Address = vec4<u32>;

struct Columns {
  source: Address, // of the first step
  target_: Address,
  here: bool, // of any of the words
  number: vec4<u32>, // of each word, among all lines
}

// Those of invocation `x` among `width` side by side, the first of which has number `first`.
fn columns_at(first: u32, x: u32, width: u32) -> Columns {
  var number = 4u * first + x + width * vec4<u32>(0u, 1u, 2u, 3u);
  if (NUM_WORDS == 2u) {
    number = 4u * first + 2u * x + vec4<u32>(0u, 1u, 2u * width, 2u * width + 1u);
  }
  var columns = Columns(Address(), Address(), any(number < vec4<u32>(params.columns)), number);
  let last = params.columns - 1u;
  #repeat 4: let line$ = line_at(min(number[$], last)); columns.source[$] = line$.source; columns.target_[$] = line$.target_;
  return columns;
}

fn load_columns(at: Address, columns: Columns) -> vec4<u32> {
  return vec4<u32>(load_input(at.x), load_input(at.y), load_input(at.z), load_input(at.w));
}

fn store_columns(at: Address, columns: Columns, unit: vec4<u32>) {
  #repeat 4: if (columns.number[$] < params.columns) { store_output(at[$], unit[$]); }
}
