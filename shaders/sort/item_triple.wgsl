// Items of three words: a key of 64 bits, the low word first, and a place. A structure, since a
// vector of three words would take the room of four.
struct Item {
  low: u32,
  high: u32,
  place: u32,
}
const ITEM_WORDS = 3u;

fn item_of(words: vec3<u32>) -> Item { return Item(words.x, words.y, words.z); }
fn item_part(item: Item, k: u32) -> u32 {
  return select(select(item.low, item.high, k == 1u), item.place, k == 2u);
}
fn keyed_item(key: vec2<u32>, place: u32) -> Item { return Item(key.x, key.y, place); }
fn last_item() -> Item { return Item(0xffffffffu, 0xffffffffu, 0xffffffffu); }
fn before(a: Item, b: Item) -> bool {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
fn item_place(item: Item) -> u32 { return item.place; }
fn item_digit(item: Item, shift: u32) -> u32 {
  return select(item.low, item.high, shift >= 32u) >> (shift % 32u);
}
