// Copies elements into an output whose addresses name their coordinates: one invocation owns 16
// bytes of the output, gaps between elements included, so no two invocations share a word.
// Needs params.{count, source_base, sizes, out_strides, source_strides}, load_input, tuple_stride
// and resolve. The innermost loop steps through the output one element at a time.
#bind write output: vec4<u32>
override WG_SIZE: u32 = 256;
override RANK: u32 = 1;
override BITS: u32 = 32;
override STEP: i32 = 0; // source step of the innermost loop where it is 1 or -1
override TUPLE_PER_ELEMENT: bool = false; // the innermost loop also steps through index tuples
override UNIT: u32 = 128u / BITS; // elements in 16 bytes
override PER_WORD: u32 = max(32u / BITS, 1u);

struct Place {
  source: u32,
  tuple_at: u32,
  inner: u32, // coordinate in the innermost loop; beyond its size in a gap
  in_gap: bool, // an outer coordinate is beyond its size
}

fn source_stride(d: u32) -> u32 { return params.source_strides[d / 4u][d % 4u]; }

fn place(address: u32) -> Place {
  var rest = address;
  var at = Place(params.source_base, 0u, 0u, false);
  for (var d = 0u; d + 1u < RANK; d++) {
    let stride = params.out_strides[d / 4u][d % 4u];
    let c = rest / stride;
    rest -= c * stride;
    at.source += c * source_stride(d);
    at.tuple_at += c * tuple_stride(d);
    at.in_gap = at.in_gap || c >= params.sizes[d / 4u][d % 4u];
  }
  at.inner = rest;
  at.source += rest * source_stride(RANK - 1u);
  at.tuple_at += rest * tuple_stride(RANK - 1u);
  return at;
}

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

// The 16 bytes that start at sub-word element `e`.
fn funnel(e: u32) -> vec4<u32> {
  let w = e / PER_WORD;
  let shift = e % PER_WORD * BITS;
  let a = vec4<u32>(load_input(w), load_input(w + 1u), load_input(w + 2u), load_input(w + 3u));
  if (shift == 0u) { return a; }
  let b = vec4<u32>(a.yzw, load_input(w + 4u));
  return (a >> vec4<u32>(shift)) | (b << vec4<u32>(32u - shift));
}

// 16 bytes with their sub-word elements in reverse order.
fn reversed(v: vec4<u32>) -> vec4<u32> {
  let halves = (v.wzyx >> vec4<u32>(16u)) | (v.wzyx << vec4<u32>(16u));
  if (BITS == 16u) { return halves; }
  return ((halves >> vec4<u32>(8u)) & vec4<u32>(0x00ff00ffu))
    | ((halves & vec4<u32>(0x00ff00ffu)) << vec4<u32>(8u));
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
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) { v = with_element(v, k, element(e + k * step)); }
  return v;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let unit = (group.x + group.y * groups.x) * WG_SIZE + lane;
  if (unit >= params.count) { return; }
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let step = source_stride(inner);
  var at = place(unit * UNIT);
  if (!TUPLE_PER_ELEMENT && !at.in_gap && at.inner + UNIT <= size) {
    store_output(unit, run(resolve(at.source, at.tuple_at), step));
    return;
  }
  let outer = max(RANK, 2u) - 2u;
  let pitch = params.out_strides[outer / 4u][outer % 4u];
  var v = vec4<u32>();
  for (var k = 0u; k < UNIT; k++) {
    if (RANK > 1u && at.inner == pitch) { at = place(unit * UNIT + k); }
    if (!at.in_gap && at.inner < size) {
      v = with_element(v, k, element(resolve(at.source, at.tuple_at)));
    }
    at.inner += 1u;
    at.source += step;
    at.tuple_at += tuple_stride(inner);
  }
  store_output(unit, v);
}
