// Scatters, before the claims: no place has a winner.
#param size: u32
#bind write winners: u32
#import invocation/in_workgroup
override WG_SIZE: u32 = 256;

@compute @workgroup_size(WG_SIZE)
fn main(me: Invocation) {
  let first = group_of(me) * 8u * WG_SIZE + me.lane;
  #repeat 8: if (first + $u * WG_SIZE < params.size) { store_winners(first + $u * WG_SIZE, 0u); }
}
