// Votes of a subgroup of up to 128 invocations: a bit for each.
alias Votes = vec4<u32>;

fn votes(said: bool) -> Votes { return subgroupBallot(said); }
fn last_vote(v: Votes) -> u32 {
  let low = select(firstLeadingBit(v.x), 32u + firstLeadingBit(v.y), v.y != 0u);
  return select(select(low, 64u + firstLeadingBit(v.z), v.z != 0u), 96u + firstLeadingBit(v.w), v.w != 0u);
}
fn votes_before(v: Votes, spot: u32) -> u32 {
  let words = vec4<u32>(0u, 1u, 2u, 3u);
  let whole = select(vec4<u32>(0u), vec4<u32>(0xffffffffu), words < vec4<u32>(spot / 32u));
  let below = vec4<u32>((1u << (spot % 32u)) - 1u);
  let ones = countOneBits(v & select(whole, below, words == vec4<u32>(spot / 32u)));
  return ones.x + ones.y + ones.z + ones.w;
}
