// Columns whose rows begin anywhere in a unit. A row of a tile is read in whole units, by COLUMNS
// invocations side by side, which pass on words to each other: while they scan, each has its columns.
// The tile writes the units that begin with its own columns, whole: what two workgroups write in
// pieces takes memory longer. So it scans the first columns of the next tile, too. Only where a row
// begins or ends words are written by themselves.
//
// All addresses, strides and numbers of columns are in words, whatever elements these hold, or in
// halves of words where rows begin within words. In the last word of a row is then the first column of
// the next row. As in memory, it comes behind the last column of this row; it is one step ahead.
#param row: u32 // columns of a row; `columns` counts tiles, those of a row one after the other
#param row_tiles: u32
#param in_units: u32 // up to the last that has an element of the input
#import unit_across
#bind read input: vec4<u32>
#bind words output: vec4<u32>
override HALVES: u32 = 0; // 1: columns are halves of words
override UNIT: u32 = 4u << HALVES; // columns of a unit
// Columns of a tile, two units less than it reads: one is scanned for the unit in which they end, and
// one has the words that complete the unit before it.
override OWN: u32;
alias Address = u32;

struct Columns {
  source: Address, // of the first column of the tile, at the first step
  target_: Address,
  here: bool,
  x: u32,
  at: u32, // columns of the row that are before the tile
}

// Those of invocation `x` of tile `first / width`, which has `width` invocations side by side.
fn columns_at(first: u32, x: u32, width: u32) -> Columns {
  let tile = first / width;
  let at = tile % params.row_tiles * OWN;
  let line = line_at(min(tile, params.columns - 1u) / params.row_tiles * params.row + at);
  return Columns(line.source, line.target_, tile < params.columns, x, at);
}

// What comes before the first step of line `line` of a tile. Lines are columns where those are halves.
fn beginning(columns: Columns, line: u32) -> Num {
  if (HALVES == 1u && columns.at + line == params.row) {
    // Compilers take 0.0 + x for x, which has a sign where x is zero; that in_base is 0 they do not know.
    let none = from_words(to_words(identity()) | vec2<u32>(params.in_base));
    return combine(none, decode(vec2<u32>(load_input(0u).x & 0xffffu, 0u)));
  }
  return identity();
}

fn beginnings(columns: Columns) -> Nums {
  var found = to_array(identities());
  for (var j = 0u; j < PER_UNIT; j++) { found[j] = beginning(columns, columns.x * PER_UNIT + j); }
  return from_array(found);
}

fn load_columns(at: Address, columns: Columns) -> vec4<u32> {
  return load_input(min(at / UNIT + columns.x, params.in_units - 1u));
}

// From a unit of the row at `at`, the columns of an invocation. For all invocations.
fn settled(unit: vec4<u32>, at: Address) -> vec4<u32> {
  var next = vec4<u32>(subgroupShuffleDown(unit.xyz, 1u), 0u);
  if (HALVES == 1u) { next.w = subgroupShuffleDown(unit.w, 1u); }
  return unit_across(unit, next, at * (32u >> HALVES), HALVES == 1u);
}

// And back. For all invocations.
fn framed(columns: vec4<u32>, at: Address) -> vec4<u32> {
  let by_word = ((at >> HALVES) & 1u) != 0u;
  let by_two = ((at >> HALVES) & 2u) != 0u;
  var before = vec4<u32>(0u, subgroupShuffleUp(columns.yzw, 1u));
  var words = columns;
  if (HALVES == 1u) {
    before.x = subgroupShuffleUp(columns.x, 1u);
    let by_half = (at & 1u) != 0u;
    words = select(words, halves_up(words, before.w), by_half);
    before = select(before, halves_up(before, 0u), by_half);
  }
  words = select(words, vec4<u32>(before.zw, words.xy), by_two);
  return select(words, vec4<u32>(select(before.w, before.y, by_two), words.xyz), by_word);
}

fn halves_up(words: vec4<u32>, before: u32) -> vec4<u32> {
  return (words << vec4<u32>(16u)) | (vec4<u32>(before, words.xyz) >> vec4<u32>(16u));
}

fn store_columns(at: Address, columns: Columns, unit: vec4<u32>) {
  let place = at / UNIT + columns.x;
  let first = UNIT * columns.x - at % UNIT; // its first column; before the tile it wraps
  let left = params.row - columns.at;
  if (first < OWN && first + UNIT <= left) {
    store_output(place, unit);
  } else if (first < OWN || columns.at + columns.x == 0u) {
    #repeat 4: if (first + ($u << HALVES) < left) { store_output_word(place, $u, unit[$]); }
  }
}
