// Items of one word: a key of up to 16 bits above a place of up to 16.
alias Item = u32;
const ITEM_WORDS = 1u;

fn item_of(words: vec3<u32>) -> Item { return words.x; }
fn item_part(item: Item, k: u32) -> u32 { return item; }
fn keyed_item(key: u32, place: u32) -> Item { return (key << 16u) | place; }
fn last_item() -> Item { return 0xffffffffu; }
fn before(a: Item, b: Item) -> bool { return a < b; }
fn item_place(item: Item) -> u32 { return item & 0xffffu; }
fn item_digit(item: Item, shift: u32) -> u32 { return item >> (16u + shift); }
fn item_key(item: Item) -> u32 { return item; }
fn item_with(key: u32, place: u32) -> Item { return key; }
