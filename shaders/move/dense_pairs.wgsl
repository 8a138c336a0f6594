// Two units per invocation, a workgroup apart, so that the loads of both are under way at once. Needs
// the declarations of dense.wgsl; elements have no index tuples of their own.

// A unit that is not all of one run. Each run is read as if it filled the unit, and only its own bits
// are kept; `loaded` is what that gave for the first one, at `start`.
fn across(unit: u32, start: Place, loaded: vec4<u32>) -> vec4<u32> {
  let inner = RANK - 1u;
  let size = params.sizes[inner / 4u][inner % 4u];
  let outer = max(RANK, 2u) - 2u;
  let pitch = select(0xffffffffu, params.out_strides[outer / 4u][outer % 4u], RANK > 1u);
  var at = start;
  var read = loaded;
  var v = vec4<u32>();
  var done = 0u;
  while (done < UNIT) {
    let in_run = at.inner < size;
    let end = done + min(UNIT - done, select(pitch, size, in_run) - at.inner);
    if (in_run && !at.in_gap) { v |= read & first_elements(end) & ~first_elements(done); }
    done = end;
    if (done < UNIT) {
      at = place(unit * UNIT + done);
      at.source -= done * source_stride(inner);
      read = within(at);
    }
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
  let first = number * 2u * WG_SIZE + lane;
  #repeat 2: let unit$ = first + $u * WG_SIZE; let at$ = place(unit$ * UNIT);
  if (unit0 >= params.count) { return; }
  // One condition for both: loads under a condition each would wait for one another.
  if (unit1 < params.count) {
    #repeat 2: var v$ = within(at$);
    #repeat 2: if (!WHOLE && !stays(at$)) { v$ = across(unit$, at$, v$); }
    #repeat 2: store_output(unit$, v$);
    return;
  }
  let v = within(at0);
  store_output(unit0, across(unit0, at0, v));
}
