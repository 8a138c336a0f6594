// Copies long rows on a CPU adapter: one invocation owns a piece of a row of the output, so that
// addresses are found once and the loop does nothing but load, shift and store. Such drivers run
// both sides of every branch, so there is none in that loop.
// Needs params.{count, source_base, sizes, out_strides, source_strides}, tuple_stride and resolve.
// A row is the innermost loop; it holds at least two units and steps by STEP through the source.
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import place
override WG_SIZE: u32 = 64;
override BITS: u32 = 32;
override STEP: i32 = 1; // 1, -1 or 2
override EDGES: bool = false; // rows begin or end within units
override RUN: u32 = 16; // most units in a piece
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override LAST_UNIT: u32 = 0xffffffffu / UNIT; // unit addresses wrap where element addresses do

// A window of 16 bytes: the unit it begins in, and how far from that unit's begin.
struct Window {
  unit: u32,
  two: bool, // words
  one: bool,
  bits: u32,
}

fn window_at(e: u32) -> Window {
  let bits = e % UNIT * BITS;
  return Window(e / UNIT, (bits & 64u) != 0u, (bits & 32u) != 0u, bits % 32u);
}

fn unit_from(w: Window, k: u32) -> vec4<u32> { return load_input((w.unit + k) & LAST_UNIT); }

// The window over two units side by side.
fn joined(w: Window, a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
  if (BITS == 128u) { return a; }
  let c = select(a, vec4<u32>(a.zw, b.xy), w.two);
  if (BITS == 64u) { return c; }
  let d = select(b.xy, b.zw, w.two);
  let e = select(c, vec4<u32>(c.yzw, d.x), w.one);
  if (BITS == 32u) { return e; }
  let f = vec4<u32>(e.yzw, select(d.x, d.y, w.one));
  return (e >> vec4<u32>(w.bits)) | ((f << vec4<u32>(1u)) << vec4<u32>(31u - w.bits));
}

// 16 bytes with their elements in reverse order.
fn reversed(v: vec4<u32>) -> vec4<u32> {
  if (BITS == 64u) { return v.zwxy; }
  if (BITS == 32u) { return v.wzyx; }
  let halves = (v.wzyx >> vec4<u32>(16u)) | (v.wzyx << vec4<u32>(16u));
  if (BITS == 16u) { return halves; }
  return ((halves >> vec4<u32>(8u)) & vec4<u32>(0x00ff00ffu))
    | ((halves & vec4<u32>(0x00ff00ffu)) << vec4<u32>(8u));
}

// Every second element of 32 bytes.
fn every_second(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
  if (BITS == 64u) { return vec4<u32>(a.xy, b.xy); }
  if (BITS == 32u) { return vec4<u32>(a.xz, b.xz); }
  if (BITS == 16u) {
    let even = vec4<u32>(a.xz, b.xz) & vec4<u32>(0xffffu);
    return even | (vec4<u32>(a.yw, b.yw) << vec4<u32>(16u));
  }
  let c = squeezed(a);
  let d = squeezed(b);
  return vec4<u32>(c.xz, d.xz) | (vec4<u32>(c.yw, d.yw) << vec4<u32>(16u));
}

// Bytes 0 and 2 of each word, in its low half.
fn squeezed(v: vec4<u32>) -> vec4<u32> {
  let even = v & vec4<u32>(0x00ff00ffu);
  return (even | (even >> vec4<u32>(8u))) & vec4<u32>(0xffffu);
}

// Fills `count` units of the output from `unit` on, the first element coming from `e`.
fn fill(unit: u32, count: u32, e: u32) {
  if (BITS == 128u) {
    for (var k = 0u; k < count; k++) { store_output(unit + k, load_input(e + k)); }
    return;
  }
  if (STEP == -1i) {
    let w = window_at(e + 1u - UNIT);
    var above = unit_from(w, 1u);
    for (var k = 0u; k < count; k++) {
      let below = unit_from(w, 0u - k);
      store_output(unit + k, reversed(joined(w, below, above)));
      above = below;
    }
    return;
  }
  let w = window_at(e);
  var before = unit_from(w, 0u);
  if (STEP == 2i) {
    for (var k = 0u; k < count; k++) {
      let middle = unit_from(w, 2u * k + 1u);
      let behind = unit_from(w, 2u * k + 2u);
      store_output(unit + k, every_second(joined(w, before, middle), joined(w, middle, behind)));
      before = behind;
    }
    return;
  }
  for (var k = 0u; k < count; k++) {
    let behind = unit_from(w, k + 1u);
    store_output(unit + k, joined(w, before, behind));
    before = behind;
  }
}

// The elements that follow `e`, as many as fill 16 bytes.
fn filled(e: u32) -> vec4<u32> {
  if (STEP == -1i) {
    let w = window_at(e + 1u - UNIT);
    return reversed(joined(w, unit_from(w, 0u), unit_from(w, 1u)));
  }
  let w = window_at(e);
  let a = joined(w, unit_from(w, 0u), unit_from(w, 1u));
  if (STEP == 1i) { return a; }
  return every_second(a, joined(w, unit_from(w, 1u), unit_from(w, 2u)));
}

// The bits of the first `m` elements of a unit.
fn first_elements(m: u32) -> vec4<u32> {
  let bits = vec4<i32>(i32(m * BITS)) - vec4<i32>(0, 32, 64, 96);
  let some = (vec4<u32>(1u) << vec4<u32>(clamp(bits, vec4<i32>(0), vec4<i32>(31)))) - vec4<u32>(1u);
  return select(some, vec4<u32>(0xffffffffu), bits >= vec4<i32>(32));
}

// Any unit: a row may end in it and another one begin. A row that ends in a unit leaves it to the
// one that begins there.
fn edge(unit: u32, ends: bool) {
  let size = size_of(RANK - 1u);
  let a = place(unit * UNIT);
  let b = place(unit * UNIT + UNIT - 1u);
  let has_b = !b.in_gap && b.inner < size;
  if (ends && has_b) { return; }
  var v = vec4<u32>();
  if (!a.in_gap && a.inner < size) {
    v = filled(resolve(a.source, a.tuple_at)) & first_elements(min(UNIT, size - a.inner));
  }
  if (has_b) {
    let e = resolve(b.source, b.tuple_at) - (UNIT - 1u) * source_stride(RANK - 1u);
    v |= filled(e) & ~first_elements(UNIT - 1u - min(UNIT - 1u, b.inner));
  }
  store_output(unit, v);
}

fn size_of(d: u32) -> u32 { return params.sizes[d / 4u][d % 4u]; }

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let id = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (id >= params.count) { return; }
  let size = size_of(RANK - 1u);
  let pieces = (size / UNIT + RUN - 1u) / RUN;
  var row = id / pieces;
  let piece = id - row * pieces;
  var source = params.source_base;
  var tuple_at = 0u;
  var address = 0u;
  #repeat 7: if (RANK > $u + 1u) { let d = max(RANK, $u + 2u) - 2u - $u; let n = size_of(d); let c = row % n; row /= n; source += c * source_stride(d); tuple_at += c * tuple_stride(d); address += c * params.out_strides[d / 4u][d % 4u]; }
  let skipped = select(0u, (UNIT - address % UNIT) % UNIT, EDGES); // elements before whole units
  let whole = (size - skipped) / UNIT;
  let share = (size / UNIT + pieces - 1u) / pieces;
  let first = min(piece * share, whole);
  let unit = (address + skipped) / UNIT;
  let e = resolve(source, tuple_at) + (skipped + first * UNIT) * source_stride(RANK - 1u);
  fill(unit + first, min(share, whole - first), e);
  if (EDGES) {
    let head = u32(piece == 0u && skipped != 0u);
    let tail = u32(piece + 1u == pieces && (size - skipped) % UNIT != 0u);
    for (var k = 1u - head; k < 1u + tail; k++) { edge(select(unit - 1u, unit + whole, k == 1u), k == 1u); }
  }
}
