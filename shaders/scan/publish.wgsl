// Values handed from one workgroup to another through `status`, which starts as zeros and which all
// calls of a device share, one after the other. Word 0 counts tickets, and calls in its upper bits.
// Each place holds a value in pieces of 16 bits, every piece with a flag of its call. Flags come
// again after 4,096 calls; by then none is left of those, for a call publishes through every place
// that it has and wipes a share of the others.
// Needs num and fold.
#param places: u32 // of all that is published
#bind atomic status: u32
override LOOKS: u32 = 16384; // 0: act as if nothing were published in time, for tests
const PIECES = 2u * NUM_WORDS;
const COUNT_BITS = 20u;
const SHARES = 2048u; // to be wiped in turn, each twice before a flag comes again

struct Published {
  here: bool, // every piece has arrived
  value: Num,
}

var<private> flag: u32; // of this call, in the upper half of a word
var<private> looks_left: u32; // at values that are not here yet
var<private> caught_up: bool; // this workgroup has published all that it waits for
var<workgroup> wg_late: atomic<u32>; // 0: every value was here in time
var<workgroup> wg_here: u32; // what look_together found
var<workgroup> wg_value: Num;

// For one invocation of every workgroup; the last one makes the count ready for the next call.
fn take_ticket(groups: vec3<u32>) -> u32 {
  atomicStore(&wg_late, 0u); // not every driver starts with zeros, as WGSL says
  let ticket = add_status(0u, 1u);
  let call = ticket >> COUNT_BITS;
  if (ticket - (call << COUNT_BITS) == groups.x * groups.y - 1u) {
    store_status(0u, (call + 1u) << COUNT_BITS);
  }
  return ticket;
}

// For all invocations, before they publish or wait.
fn number_of(ticket: u32, invocation: u32, invocations: u32) -> u32 {
  let call = ticket >> COUNT_BITS;
  let number = ticket - (call << COUNT_BITS);
  flag = (call + 1u) << 16u;
  looks_left = LOOKS;
  caught_up = false;
  if (number == 0u) {
    let words = arrayLength(&status) - 4u;
    let share = (words + SHARES - 1u) / SHARES;
    let first = call % SHARES * share;
    let end = min(first + share, words);
    for (var i = max(first, params.places * PIECES) + invocation; i < end; i += invocations) {
      store_status(4u + i, 0u);
    }
  }
  return number;
}

fn publish(place: u32, value: Num) {
  let words = to_words(value);
  let at = 4u + place * PIECES;
  store_status(at, flag | (words.x & 0xffffu));
  store_status(at + 1u, flag | (words.x >> 16u));
  if (NUM_WORDS == 2u) {
    store_status(at + 2u, flag | (words.y & 0xffffu));
    store_status(at + 3u, flag | (words.y >> 16u));
  }
}

fn published(place: u32) -> Published {
  let at = 4u + place * PIECES;
  let a = load_status(at) ^ flag;
  let b = load_status(at + 1u) ^ flag;
  var words = vec2<u32>(a | (b << 16u), 0u);
  var other = a | b;
  if (NUM_WORDS == 2u) {
    let c = load_status(at + 2u) ^ flag;
    let d = load_status(at + 3u) ^ flag;
    words.y = c | (d << 16u);
    other |= c | d;
  }
  return Published(other <= 0xffffu, from_words(words));
}

// Waiting for a value that another workgroup publishes. WebGPU does not promise that the other one
// goes on meanwhile, and some drivers end a loop that takes long, so an invocation looks LOOKS times
// in all its life, and once more at each value. The caller checks `here`, never that the loop ended.
fn wait_for(place: u32) -> Published {
  var seen = Published(false, identity());
  if (LOOKS > 0u || caught_up) { seen = published(place); }
  while (!seen.here && looks_left > 0u) {
    seen = published(place);
    looks_left--;
  }
  return seen;
}

// A value that is not here in time makes the whole workgroup compute it from the input.
fn note_late() { atomicStore(&wg_late, 1u); }

// Whether an invocation has noted it. For all invocations of the workgroup, which also wait here for
// each other.
fn anyone_late() -> bool { return workgroupUniformLoad(&wg_late) != 0u; }

// One look at a value, the same for all invocations of the workgroup.
fn look_together(place: u32, invocation: u32) -> Published {
  if (invocation == 0u) {
    let seen = published(place);
    wg_here = select(0u, 1u, seen.here && LOOKS > 0u);
    wg_value = seen.value;
  }
  let here = workgroupUniformLoad(&wg_here) != 0u;
  let value = wg_value;
  workgroupBarrier();
  return Published(here, value);
}
