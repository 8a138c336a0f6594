// Items of two words: a key of up to 32 bits and a place.
alias Item = vec2<u32>;
const ITEM_WORDS = 2u;

fn item_of(words: vec3<u32>) -> Item { return words.xy; }
fn item_part(item: Item, k: u32) -> u32 { return item[k]; }
fn keyed_item(key: u32, place: u32) -> Item { return vec2<u32>(key, place); }
fn last_item() -> Item { return vec2<u32>(0xffffffffu); }
fn before(a: Item, b: Item) -> bool { return a.x < b.x; }
fn item_place(item: Item) -> u32 { return item.y; }
fn item_digit(item: Item, shift: u32) -> u32 { return item.x >> shift; }
fn item_key(item: Item) -> u32 { return item.x; }
fn item_with(key: u32, place: u32) -> Item { return vec2<u32>(key, place); }
