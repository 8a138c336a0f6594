// Values handed from one workgroup to another through `status`, which starts as zeros: word 0
// counts tickets, and each place holds a value in pieces of 16 bits, every piece with the flag.
// Needs num and the atomic binding status.
const PIECES = 2u * NUM_WORDS;
const READY = 1u; // the flag

struct Published {
  flag: u32, // 0 until every piece has arrived
  value: Num,
}

fn take_ticket() -> u32 { return add_status(0u, 1u); }

fn publish(place: u32, value: Num) {
  let words = to_words(value);
  let at = 4u + place * PIECES;
  store_status(at, (READY << 16u) | (words.x & 0xffffu));
  store_status(at + 1u, (READY << 16u) | (words.x >> 16u));
  if (NUM_WORDS == 2u) {
    store_status(at + 2u, (READY << 16u) | (words.y & 0xffffu));
    store_status(at + 3u, (READY << 16u) | (words.y >> 16u));
  }
}

fn published(place: u32) -> Published {
  let at = 4u + place * PIECES;
  let a = load_status(at);
  let b = load_status(at + 1u);
  var words = vec2<u32>((a & 0xffffu) | (b << 16u), 0u);
  var same = a >> 16u == b >> 16u;
  if (NUM_WORDS == 2u) {
    let c = load_status(at + 2u);
    let d = load_status(at + 3u);
    words.y = (c & 0xffffu) | (d << 16u);
    same = same && a >> 16u == c >> 16u && a >> 16u == d >> 16u;
  }
  return Published(select(0u, a >> 16u, same), from_words(words));
}

fn wait_for(place: u32) -> Num {
  var seen = published(place);
  while (seen.flag == 0u) { seen = published(place); }
  return seen.value;
}
