// Copies elements into an output whose addresses name their coordinates: one invocation owns RUN times
// 16 bytes of the output, gaps between elements included, so no two invocations share a word. Only units
// that begin a run are looked up. Needs tuple_stride and resolve.
// The innermost loop steps through the output one element at a time.
#bind read input: u32
#bind write output: vec4<u32>
#import invocation/in_workgroup
#import place
#import first_elements
#import rearrange
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override RUN: u32 = 1;
override STEP: i32 = 0; // source step of the innermost loop where it is 1, -1 or 2
override TUPLE_PER_ELEMENT: bool = false; // the innermost loop also steps through index tuples
override WHOLE: bool = false; // every unit is part of one run
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);
override LAST_WORD: u32 = 0xffffffffu / PER_WORD;

// Element `e` of the input: one word, or two for 64 bits.
fn element(e: u32) -> vec2<u32> {
  if (BITS == 64u) { return vec2<u32>(load_input(2u * e), load_input(2u * e + 1u)); }
  if (BITS == 32u) { return vec2<u32>(load_input(e), 0u); }
  let word = load_input(e / PER_WORD) >> (e % PER_WORD * BITS);
  return vec2<u32>(word & ((1u << (BITS % 32u)) - 1u), 0u);
}

// `unit` with element `k` set; its bits are 0 before.
fn with_element(unit: vec4<u32>, k: u32, value: vec2<u32>) -> vec4<u32> {
  var v = unit;
  if (BITS == 64u) {
    v[2u * k] = value.x;
    v[2u * k + 1u] = value.y;
  } else {
    v[k / PER_WORD] |= value.x << (k % PER_WORD * BITS % 32u);
  }
  return v;
}

// The 16 bytes that start at sub-word element `e`, which may lie before the tensor's first: element
// addresses wrap at 2^32, so word addresses must wrap where those do.
fn funnel(e: u32) -> vec4<u32> {
  let w = e / PER_WORD;
  let shift = e % PER_WORD * BITS;
  let a = vec4<u32>(load_input(w), load_input((w + 1u) & LAST_WORD),
    load_input((w + 2u) & LAST_WORD), load_input((w + 3u) & LAST_WORD));
  let b = vec4<u32>(a.yzw, load_input((w + 4u) & LAST_WORD));
  return (a >> vec4<u32>(shift)) | ((b << vec4<u32>(1u)) << vec4<u32>(31u - shift));
}

// The elements e, e + step, e + 2 step ... that fill 16 bytes.
fn run(e: u32, step: u32) -> vec4<u32> {
  if (BITS == 64u) {
    let n = e + step;
    return vec4<u32>(load_input(2u * e), load_input(2u * e + 1u),
      load_input(2u * n), load_input(2u * n + 1u));
  }
  if (BITS == 32u) {
    return vec4<u32>(load_input(e), load_input(e + step), load_input(e + 2u * step),
      load_input(e + 3u * step));
  }
  if (STEP == 1i) { return funnel(e); }
  if (STEP == -1i) { return reversed(funnel(e + 1u - UNIT)); }
  if (STEP == 2i) { return every_second(funnel(e), funnel(e + UNIT)); }
  return apart(e, step);
}

// Elements that each have a tuple of their own.
fn by_tuples(source: u32, step: u32, tuple_at: u32, tuple_step: u32) -> vec4<u32> {
  if (BITS == 32u) {
    #repeat 4: let e$ = resolve(source + $u * step, tuple_at + $u * tuple_step);
    return vec4<u32>(load_input(e0), load_input(e1), load_input(e2), load_input(e3));
  }
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) {
    v = with_element(v, k, element(resolve(source + k * step, tuple_at + k * tuple_step)));
  }
  return v;
}

// The 16 bytes that begin at a place and stay in its innermost loop.
fn within(at: Place) -> vec4<u32> {
  let step = source_stride(RANK - 1u);
  if (!TUPLE_PER_ELEMENT) { return run(resolve(at.source, at.tuple_at), step); }
  return by_tuples(at.source, step, at.tuple_at, tuple_stride(RANK - 1u));
}

fn stays(at: Place) -> bool {
  let inner = RANK - 1u;
  return !at.in_gap && at.inner + UNIT <= params.sizes[inner / 4u][inner % 4u];
}

// Elements smaller than a word that are apart.
fn apart(e: u32, step: u32) -> vec4<u32> {
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) { v = with_element(v, k, element(e + k * step)); }
  return v;
}

// Any unit, run by run: each is read as if it filled the unit, and only its own bits are kept.
fn across(unit: u32) -> vec4<u32> {
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let outer = max(RANK, 2u) - 2u;
  let pitch = select(0xffffffffu, params.out_strides[outer / 4u][outer % 4u], RANK > 1u);
  var v = vec4<u32>();
  var done = 0u;
  while (done < UNIT) {
    var at = place(unit * UNIT + done);
    let in_run = at.inner < size;
    let m = min(UNIT - done, select(pitch, size, in_run) - at.inner);
    if (in_run && !at.in_gap) {
      at.source -= done * source_stride(inner);
      at.tuple_at -= done * tuple_stride(inner);
      v |= within(at) & first_elements(done + m) & ~first_elements(done);
    }
    done += m;
  }
  return v;
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let first = (number * WG_SIZE + me.lane) * RUN;
  var at = place(first * UNIT);
  for (var unit = first; unit < min(first + RUN, params.count); unit++) {
    if (at.inner >= size) { at = place(unit * UNIT); }
    if (WHOLE || stays(at)) {
      store_output(unit, within(at));
      at.inner += UNIT;
      at.source += UNIT * source_stride(inner);
      at.tuple_at += UNIT * tuple_stride(inner);
    } else {
      store_output(unit, across(unit));
      at.inner = size; // look it up again
    }
  }
}
