// The unit `d` lanes before this one.
fn lifted(n: Nums, d: u32) -> Nums {
  return Nums(subgroupShuffleUp(n.a, d), subgroupShuffleUp(n.b, d));
}
