// Moves in the order of the output: one invocation makes one or two units of it, a workgroup apart,
// so that the loads of both are under way, and stores each wherever the output has it again:
// params.apart units apart, where a loop stays where it is in the source.
// dmlgpu/plan/move/packed.py writes the bindings, the type `Unit`, `unit_at` with the parameters it
// needs, `first_place`, where a unit is stored first, and `units_of`, where the units of a
// workgroup begin, and the last of those that follow it.
#param count: u32 // units of the output
#param made: u32 // of these
#param apart: u32
#import invocation/in_workgroup
#import first_elements
override WG_SIZE: u32 = 256;
override BITS: u32 = 32;
override AT_ONCE: u32 = 1; // units
override REPEATS: u32 = 1;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let units = units_of(group_of(me));
  let first = units.x + me.lane;
  let last = units.y; // made again beyond the end: loads under a condition would wait
  #repeat 2: var v$ = Unit(); if (AT_ONCE > $u) { v$ = unit_at(min(first + $u * WG_SIZE, last)); }
  #repeat 2: if (AT_ONCE > $u && first + $u * WG_SIZE <= last) { put(first_place(first + $u * WG_SIZE), v$); }
}

fn put(unit: u32, v: Unit) {
  #repeat 4: if (REPEATS > $u && unit + $u * params.apart < params.count) { store_output(unit + $u * params.apart, v); }
}
