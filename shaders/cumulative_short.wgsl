// CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT of many short lines that lie one behind the other: a
// workgroup moves a stretch of whole lines through workgroup memory, reads and writes it 16 bytes
// at a time, and each invocation scans lines of its own in between.
override WG_SIZE: u32 = 128;
override EXCLUSIVE: bool = false;
override BACKWARD: bool = false;
override LINE_WORDS: u32 = 64; // words of one line
override PITCH: u32 = 65; // words between lines in workgroup memory, odd against bank conflicts
override LINES: u32 = 64; // of one workgroup; whole units altogether

struct Params {
  lines: u32,
  units: u32, // of all lines
}
@group(0) @binding(0) var<uniform> params: Params;
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import num
#import fold

var<workgroup> wg_words: array<u32, LINES * PITCH>;

fn word_at(w: u32) -> u32 { return w / LINE_WORDS * PITCH + w % LINE_WORDS; }

fn step_line(first: u32, k: u32, total: Num) -> Num {
  // A word holds one number, half of one, or two.
  if (PER_UNIT == 2u) {
    let w = select(2u * k, LINE_WORDS - 2u - 2u * k, BACKWARD);
    let next = combine(total, decode(vec2<u32>(wg_words[first + w], wg_words[first + w + 1u])));
    var words = encode(next);
    if (EXCLUSIVE) { words = encode(total); }
    wg_words[first + w] = words.x;
    wg_words[first + w + 1u] = words.y;
    return next;
  }
  if (PER_UNIT == 4u) {
    let w = select(k, LINE_WORDS - 1u - k, BACKWARD);
    let next = combine(total, decode(vec2<u32>(wg_words[first + w], 0u)));
    if (EXCLUSIVE) { wg_words[first + w] = encode(total).x; } else { wg_words[first + w] = encode(next).x; }
    return next;
  }
  let e = select(k, 2u * LINE_WORDS - 1u - k, BACKWARD);
  let shift = e % 2u * 16u;
  let word = wg_words[first + e / 2u];
  let next = combine(total, decode(vec2<u32>((word >> shift) & 0xffffu, 0u)));
  var bits = encode(next).x;
  if (EXCLUSIVE) { bits = encode(total).x; }
  wg_words[first + e / 2u] = (word & ~(0xffffu << shift)) | (bits << shift);
  return next;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let stretch = LINES * LINE_WORDS / 4u; // units
  let first = (group.x + group.y * groups.x) * stretch;
  for (var u = lane; u < stretch; u += WG_SIZE) {
    if (first + u < params.units) {
      let v = load_input(first + u);
      for (var j = 0u; j < 4u; j++) { wg_words[word_at(4u * u + j)] = v[j]; }
    }
  }
  workgroupBarrier();
  let steps = LINE_WORDS * PER_UNIT / 4u;
  for (var line = lane; line < LINES; line += WG_SIZE) {
    var total = identity();
    for (var k = 0u; k < steps; k++) { total = step_line(line * PITCH, k, total); }
  }
  workgroupBarrier();
  for (var u = lane; u < stretch; u += WG_SIZE) {
    if (first + u < params.units) {
      let w = 4u * u;
      store_output(first + u, vec4<u32>(wg_words[word_at(w)], wg_words[word_at(w + 1u)],
        wg_words[word_at(w + 2u)], wg_words[word_at(w + 3u)]));
    }
  }
}
