// Whether a workgroup goes on while later ones wait for it. Each workgroup takes a ticket and waits
// for the value of the last one of the team before its own, as scans do: a bounded number of looks by
// one invocation, while the others stand at a barrier. Then it works for a while, and hands on the
// value plus one.
const TEAM = 32u; // as in forward_progress.py
const LOOKS = 16384u;
const WORK = 256u; // turns of a loop, so that the next team has to wait
const HEAD = 3u; // words before the values: tickets, workgroups that saw their value, those that did not
@group(0) @binding(0) var<storage, read_write> found: array<atomic<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) invocation: u32) {
  if (invocation == 0u) {
    let ticket = atomicAdd(&found[0], 1u);
    let team = ticket / TEAM;
    if (team > 0u) {
      let place = HEAD + team * TEAM - 1u;
      var value = atomicLoad(&found[place]);
      // Once one has waited in vain the answer is known, and nobody else waits.
      for (var look = 0u; look < LOOKS && value == 0u && atomicLoad(&found[2]) == 0u; look++) {
        value = atomicLoad(&found[place]);
      }
      if (value == team) { atomicAdd(&found[1], 1u); } else { atomicAdd(&found[2], 1u); }
    }
    var number = ticket;
    for (var turn = 0u; turn < WORK; turn++) { number = number * 1664525u + 1013904223u; }
    // No compiler knows that the sum below is not 0, so the loop stays.
    if (number + team == 0u) { atomicAdd(&found[2], 1u); }
    atomicStore(&found[HEAD + ticket], team + 1u);
  }
  workgroupBarrier();
}
