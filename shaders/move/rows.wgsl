// Copies long rows on a CPU adapter: a team of invocations owns a piece of a row of the output, so
// that addresses are found once and the loop does nothing but load, shift and store. Such drivers
// run both sides of every branch, so there is none in that loop but for stores.
// Needs tuple_stride and resolve; params.team invocations share at most params.run units of a row.
// A row is the innermost loop; it holds at least two units and steps by STEP through the source.
#param out_base: u32
#bind read input: vec4<u32>
#bind write output: vec4<u32>
#import invocation/in_workgroup
#import place
#import first_elements
#import rearrange
override WG_SIZE: u32 = 64;
override BITS: u32 = 32;
override STEP: i32 = 1; // 1, -1 or 2
override ALIGNED: bool = false; // windows begin where units do
override EDGES: bool = false; // rows begin or end within units
override PART: bool = false; // which others write: what lies between rows is not ours
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override LAST_UNIT: u32 = 0xffffffffu / UNIT; // unit addresses wrap where element addresses do

// A window of 16 bytes: the unit it begins in, and how far from that unit's begin.
struct Window {
  unit: u32,
  two: bool, // words
  one: bool,
  bits: u32,
  lift: u32, // what moves a word by the other 32 - bits
}

fn window_at(e: u32) -> Window {
  let bits = e % UNIT * BITS;
  return Window(e / UNIT, (bits & 64u) != 0u, (bits & 32u) != 0u, bits % 32u,
    select(1u << ((32u - bits) % 32u), 0u, bits % 32u == 0u));
}

fn unit_from(w: Window, k: u32) -> vec4<u32> { return load_input((w.unit + k) & LAST_UNIT); }

// The window over two units side by side.
fn joined(w: Window, a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
  if (ALIGNED) { return a; }
  let c = select(a, vec4<u32>(a.zw, b.xy), w.two);
  if (BITS == 64u) { return c; }
  let d = select(b.xy, b.zw, w.two);
  let e = select(c, vec4<u32>(c.yzw, d.x), w.one);
  if (BITS == 32u) { return e; }
  let f = vec4<u32>(e.yzw, select(d.x, d.y, w.one));
  return (e >> vec4<u32>(w.bits)) | (f * w.lift);
}

// Fills `count` units of the output from `unit` on, the first element coming from `e`: the members
// of a team take two or four units each in turn.
fn fill(unit: u32, count: u32, e: u32, member: u32) {
  let w = window_at(select(e, e + 1u - UNIT, STEP == -1i));
  let turn = select(4u, 2u, STEP == 2i);
  for (var k = turn * member; k < count; k += turn * params.team) {
    let at = unit + k;
    if (STEP == 2i) {
      #repeat 5: let a$ = unit_from(w, 2u * k + $u);
      put(at, k < count, every_second(joined(w, a0, a1), joined(w, a1, a2)));
      put(at + 1u, k + 1u < count, every_second(joined(w, a2, a3), joined(w, a3, a4)));
    } else if (STEP == -1i) {
      #repeat 5: let a$ = unit_from(w, 1u - k - $u);
      put(at, k < count, reversed(joined(w, a1, a0)));
      put(at + 1u, k + 1u < count, reversed(joined(w, a2, a1)));
      put(at + 2u, k + 2u < count, reversed(joined(w, a3, a2)));
      put(at + 3u, k + 3u < count, reversed(joined(w, a4, a3)));
    } else {
      #repeat 5: let a$ = unit_from(w, k + $u);
      put(at, k < count, joined(w, a0, a1));
      put(at + 1u, k + 1u < count, joined(w, a1, a2));
      put(at + 2u, k + 2u < count, joined(w, a2, a3));
      put(at + 3u, k + 3u < count, joined(w, a3, a4));
    }
  }
}

fn put(unit: u32, is_mine: bool, v: vec4<u32>) {
  if (is_mine) { store_output(unit, v); }
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

// The unit in which a row begins or ends that is not all its own: `own` are the row's elements as if
// they filled it, the first of which has the address `address`.
fn edge(unit: u32, address: u32, own: vec4<u32>, ends: bool) {
  let size = size_of(RANK - 1u);
  let from_ = max(address, unit * UNIT) - unit * UNIT;
  let other = place(unit * UNIT + select(0u, UNIT - 1u, ends));
  let is_shared = is_element(other);
  var v = own & ~first_elements(from_);
  if (ends) { v &= first_elements(address + size - unit * UNIT); }
  if (!ends && is_shared) {
    v |= filled(resolve(other.source, other.tuple_at)) & first_elements(min(UNIT, size - other.inner));
  }
  if (!(ends && is_shared)) { store_output(unit, v); } // else the row that begins there does it
}

fn size_of(d: u32) -> u32 { return params.sizes[d / 4u][d % 4u]; }

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let id = group_of(me) * (WG_SIZE / params.team) + me.lane / params.team;
  let member = me.lane % params.team;
  if (id >= params.count) { return; }
  let size = size_of(RANK - 1u);
  let pieces = (size / UNIT + params.run - 1u) / params.run;
  var row = id / pieces;
  let piece = id - row * pieces;
  var source = params.source_base;
  var tuple_at = 0u;
  var address = params.out_base;
  #repeat 7: if (RANK > $u + 1u) { let d = max(RANK, $u + 2u) - 2u - $u; let n = size_of(d); let c = row % n; row /= n; source += c * source_stride(d); tuple_at += c * tuple_stride(d); address += c * params.out_strides[d / 4u][d % 4u]; }
  let skipped = select(0u, (UNIT - address % UNIT) % UNIT, EDGES); // elements before whole units
  let whole = (size - skipped) / UNIT;
  let share = (size / UNIT + pieces - 1u) / pieces;
  let first = min(piece * share, whole);
  let unit = (address + skipped) / UNIT;
  let step = source_stride(RANK - 1u);
  let e = resolve(source, tuple_at);
  fill(unit + first, min(share, whole - first), e + (skipped + first * UNIT) * step, member);
  if (EDGES && !PART) {
    let begins = member == 0u && piece == 0u && skipped != 0u;
    let ends = member == 0u && piece + 1u == pieces && (size - skipped) % UNIT != 0u;
    for (var k = 1u - u32(begins); k < 1u + u32(ends); k++) {
      let at = select(unit - 1u, unit + whole, k == 1u);
      edge(at, address, filled(e + (at * UNIT - address) * step), k == 1u);
    }
  }
}
