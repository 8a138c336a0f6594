// Arithmetic on the eight elements of 16 bytes, in two vec4. Needs num and fold.
struct Nums { // the elements of 16 bytes
  a: vec4<Num>,
  b: vec4<Num>,
}
fn side_by_side_4(a: vec4<Num>, b: vec4<Num>) -> vec4<Num> {
  return vec4<Num>(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}
fn side_by_side(a: Nums, b: Nums) -> Nums {
  return Nums(side_by_side_4(a.a, b.a), side_by_side_4(a.b, b.b));
}
// Results of a unit that begins from `start`.
fn running(start: Num, n: Nums) -> Nums {
  let a = running_4(start, n.a);
  return Nums(a, running_4(a.w, n.b));
}
fn running_4(start: Num, n: vec4<Num>) -> vec4<Num> {
  let a = combine(start, n.x);
  let b = combine(a, n.y);
  let c = combine(b, n.z);
  return vec4<Num>(a, b, c, combine(c, n.w));
}
// The same, beginning anew with elements whose bits are set in `begins`.
fn running_anew(start: Num, n: Nums, begins: u32) -> Nums {
  let a = running_anew_4(start, n.a, begins);
  return Nums(a, running_anew_4(a.w, n.b, begins >> 4u));
}
fn running_anew_4(start: Num, n: vec4<Num>, begins: u32) -> vec4<Num> {
  let a = combine(select(start, identity(), (begins & 1u) != 0u), n.x);
  let b = combine(select(a, identity(), (begins & 2u) != 0u), n.y);
  let c = combine(select(b, identity(), (begins & 4u) != 0u), n.z);
  return vec4<Num>(a, b, c, combine(select(c, identity(), (begins & 8u) != 0u), n.w));
}
fn shifted(start: Num, n: Nums) -> Nums {
  return Nums(vec4<Num>(start, n.a.xyz), vec4<Num>(n.a.w, n.b.xyz));
}
fn last(n: Nums) -> Num { return n.b.w; }
fn total(n: Nums) -> Num {
  return combine(combine(combine(combine(combine(combine(combine(n.a.x, n.a.y), n.a.z), n.a.w),
    n.b.x), n.b.y), n.b.z), n.b.w);
}
fn turned(n: Nums) -> Nums { return Nums(n.b.wzyx, n.a.wzyx); }
// Elements `low` to `high` of `n`, the others of `other`.
fn chosen(n: Nums, other: Nums, low: u32, high: u32) -> Nums {
  let j = vec4<u32>(0u, 1u, 2u, 3u);
  let k = j + 4u;
  return Nums(select(other.a, n.a, (j >= vec4<u32>(low)) & (j < vec4<u32>(high))),
    select(other.b, n.b, (k >= vec4<u32>(low)) & (k < vec4<u32>(high))));
}
// `n`, with nothing in the elements whose bits are set.
fn emptied(n: Nums, bits: u32) -> Nums { return Nums(emptied_4(n.a, bits), emptied_4(n.b, bits >> 4u)); }
fn emptied_4(n: vec4<Num>, bits: u32) -> vec4<Num> {
  let is_empty = (vec4<u32>(bits) & vec4<u32>(1u, 2u, 4u, 8u)) != vec4<u32>(0u);
  return select(n, vec4<Num>(identity()), is_empty);
}
fn from_array(a: array<Num, 8>) -> Nums {
  return Nums(vec4<Num>(a[0], a[1], a[2], a[3]), vec4<Num>(a[4], a[5], a[6], a[7]));
}
fn to_array(n: Nums) -> array<Num, 8> {
  return array<Num, 8>(n.a.x, n.a.y, n.a.z, n.a.w, n.b.x, n.b.y, n.b.z, n.b.w);
}
fn identities() -> Nums { return Nums(vec4<Num>(identity()), vec4<Num>(identity())); }
