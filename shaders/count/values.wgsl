// How often each value is there, added to what was counted before. Elements lie side by side, and
// each workgroup counts those of some units.
#import invocation/in_workgroup
#param count: u32 // elements
#param units: u32 // of a workgroup
#bind read input: vec4<u32>
#import found
override WG_SIZE: u32 = 256;
override BITS: u32 = 8;
override PER_UNIT: u32 = 128u / BITS;
override ONE: u32 = select((1u << (BITS % 32u)) - 1u, 0xffffffffu, BITS > 31u);

// Element `k` of a unit, or the low half of one.
fn value_of(v: vec4<u32>, k: u32) -> u32 {
  let bit = k * BITS;
  return (v[bit / 32u] >> (bit % 32u)) & ONE;
}

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let number = group_of(me);
  clear(me.lane);
  workgroupBarrier();
  let first = number * params.units;
  for (var k = me.lane; k < params.units; k += WG_SIZE) {
    let unit = first + k;
    if (unit * PER_UNIT < params.count) {
      let v = load_input(unit);
      let here = min(PER_UNIT, params.count - unit * PER_UNIT);
      for (var e = 0u; e < here; e++) { found(value_of(v, e), me.lane); }
    }
  }
  workgroupBarrier();
  finish(me.lane);
}
