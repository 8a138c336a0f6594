// Arithmetic on the four elements of 16 bytes, a vec4. Needs num and fold.
fn side_by_side(a: Nums, b: Nums) -> Nums { return Nums(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w)); }
// Results of a unit that begins from `start`.
fn running(start: Num, n: Nums) -> Nums {
  let a = combine(start, n.x);
  let b = combine(a, n.y);
  let c = combine(b, n.z);
  return Nums(a, b, c, combine(c, n.w));
}
// The same, beginning anew with elements whose bits are set in `begins`.
fn running_anew(start: Num, n: Nums, begins: u32) -> Nums {
  let a = combine(select(start, identity(), (begins & 1u) != 0u), n.x);
  let b = combine(select(a, identity(), (begins & 2u) != 0u), n.y);
  let c = combine(select(b, identity(), (begins & 4u) != 0u), n.z);
  return Nums(a, b, c, combine(select(c, identity(), (begins & 8u) != 0u), n.w));
}
fn shifted(start: Num, n: Nums) -> Nums { return Nums(start, n.xyz); }
fn last(n: Nums) -> Num { return n.w; }
fn total(n: Nums) -> Num { return combine(combine(combine(n.x, n.y), n.z), n.w); }
fn turned(n: Nums) -> Nums { return n.wzyx; }
// Elements `low` to `high` of `n`, the others of `other`.
fn chosen(n: Nums, other: Nums, low: u32, high: u32) -> Nums {
  let j = vec4<u32>(0u, 1u, 2u, 3u);
  return select(other, n, (j >= vec4<u32>(low)) & (j < vec4<u32>(high)));
}
// `n`, with nothing in the elements whose bits are set.
fn emptied(n: Nums, bits: u32) -> Nums {
  return select(n, identities(), (vec4<u32>(bits) & vec4<u32>(1u, 2u, 4u, 8u)) != vec4<u32>(0u));
}
fn from_array(a: array<Num, 4>) -> Nums { return Nums(a[0], a[1], a[2], a[3]); }
fn to_array(n: Nums) -> array<Num, 4> { return array<Num, 4>(n.x, n.y, n.z, n.w); }
fn identities() -> Nums { return Nums(identity()); }
