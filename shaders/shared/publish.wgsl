// Values handed from one workgroup to another through `status`, which keeps its words from call to
// call and starts as zeros. Word 0 counts tickets, and its highest bit turns with every call. Each
// place holds a value in pieces of 16 bits, every piece with the flag of its call; a call publishes
// through every place, so what it finds there is its own or the last one's.
// Needs num and the atomic binding status.
const PIECES = 2u * NUM_WORDS;
const TURN = 0x80000000u;

struct Published {
  here: bool, // every piece has arrived
  value: Num,
}

var<private> flag: u32; // of this call, in the upper half of a word

// For one invocation of every workgroup; the last of the call makes the count ready for the next.
fn take_ticket(groups: vec3<u32>) -> u32 {
  let ticket = add_status(0u, 1u);
  let turn = ticket & TURN;
  if (ticket - turn == groups.x * groups.y - 1u) { store_status(0u, turn ^ TURN); }
  return ticket;
}

// For all invocations, before they publish or wait.
fn number_of(ticket: u32) -> u32 {
  flag = select(1u, 2u, ticket >= TURN) << 16u;
  return ticket & ~TURN;
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

fn wait_for(place: u32) -> Num {
  var seen = published(place);
  while (!seen.here) { seen = published(place); }
  return seen.value;
}
