// RUN units side by side per invocation, of which only those that begin a run are looked up. Needs
// the declarations of dense.wgsl.
override RUN: u32 = 1;

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
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.x + group.y * groups.x;
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let first = (number * WG_SIZE + lane) * RUN;
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
