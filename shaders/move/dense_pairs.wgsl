// Two units per invocation, a workgroup apart, so that the loads of both are under way. Needs
// the declarations of dense.wgsl; elements have no index tuples of their own, and a unit holds no
// more than the end of one run and the beginning of the next.
override LONG: bool = false; // runs are so long that few units hold two of them
override GAPS: bool = true; // there are gaps between runs

// Elements e, e + step, ... of a unit, of which the first `m` are those of `a`, and the rest of `b`.
fn of_two(a: u32, b: u32, step: u32, m: u32) -> vec4<u32> {
  if (BITS == 64u) {
    let n = select(b, a, m > 1u) + step;
    let e = select(b, a, m > 0u);
    return vec4<u32>(load_input(2u * e), load_input(2u * e + 1u),
      load_input(2u * n), load_input(2u * n + 1u));
  }
  if (BITS == 32u) {
    #repeat 4: let e$ = select(b, a, m > $u) + $u * step;
    return vec4<u32>(load_input(e0), load_input(e1), load_input(e2), load_input(e3));
  }
  let mine = first_elements(m);
  return (run(a, step) & mine) | (run(b, step) & ~mine);
}

// Elements smaller than a word that are apart: all their words are under way at once.
fn apart(e: u32, step: u32) -> vec4<u32> {
  #repeat 8: let e$ = e + $u * step; let w$ = load_input(e$ / PER_WORD) >> (e$ % PER_WORD * BITS % 32u);
  if (BITS == 16u) {
    let low = vec4<u32>(w0, w2, w4, w6) & vec4<u32>(0xffffu);
    return low | (vec4<u32>(w1, w3, w5, w7) << vec4<u32>(16u));
  }
  let f = e + 8u * step;
  #repeat 8: let f$ = f + $u * step; let x$ = load_input(f$ / PER_WORD) >> (f$ % PER_WORD * BITS % 32u);
  let byte = vec4<u32>(0xffu);
  return (vec4<u32>(w0, w4, x0, x4) & byte) | ((vec4<u32>(w1, w5, x1, x5) & byte) << vec4<u32>(8u))
    | ((vec4<u32>(w2, w6, x2, x6) & byte) << vec4<u32>(16u))
    | (vec4<u32>(w3, w7, x3, x7) << vec4<u32>(24u));
}

fn unit_at(unit: u32) -> vec4<u32> {
  let first = place(unit * UNIT);
  if (WHOLE || (LONG && BITS < 32u && stays(first))) { return within(first); }
  let last = ahead(first, unit * UNIT);
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let step = source_stride(inner);
  let a = resolve(first.source, first.tuple_at);
  let b = resolve(last.source, last.tuple_at) - (UNIT - 1u) * step;
  let in_first = select(min(size - min(first.inner, size), UNIT), 0u, first.in_gap);
  let in_last = select(min(last.inner + 1u, UNIT), 0u, last.in_gap || last.inner >= size);
  var v = of_two(a, b, step, in_first);
  if (GAPS || unit + 1u == params.count) {
    v &= first_elements(in_first) | ~first_elements(UNIT - in_last);
  }
  return v;
}

// The place of the last element of the unit that begins at `first`, where it is in the next row or in
// the same. Only what is behind the last row of a loop has to be found by dividing.
fn ahead(first: Place, address: u32) -> Place {
  let inner = RANK - 1u;
  let outer = max(RANK, 2u) - 2u;
  let pitch = params.out_strides[outer / 4u][outer % 4u];
  let steps = first.inner + UNIT - 1u;
  var last = first;
  last.inner = steps;
  last.source += (UNIT - 1u) * source_stride(inner);
  last.tuple_at += (UNIT - 1u) * tuple_stride(inner);
  if (RANK > 1u && steps >= pitch) {
    last.inner -= pitch;
    last.source += source_stride(outer) - pitch * source_stride(inner);
    last.tuple_at += tuple_stride(outer) - pitch * tuple_stride(inner);
    if (first.in_gap || first.row + 1u >= params.sizes[outer / 4u][outer % 4u]) {
      last = place(address + UNIT - 1u);
    }
  }
  return last;
}

@compute @workgroup_size(WG_SIZE)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  let first = number * 2u * WG_SIZE + lane;
  #repeat 2: let unit$ = first + $u * WG_SIZE;
  let last = params.count - 1u; // made again beyond the end: loads under a condition would wait
  #repeat 2: let v$ = unit_at(min(unit$, last));
  #repeat 2: if (unit$ <= last) { store_output(unit$, v$); }
}
