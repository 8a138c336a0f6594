// Votes of a subgroup of up to 32 invocations: a bit for each.
alias Votes = u32;

fn votes(said: bool) -> Votes { return subgroupBallot(said).x; }
fn last_vote(v: Votes) -> u32 { return firstLeadingBit(v); }
fn votes_before(v: Votes, spot: u32) -> u32 { return countOneBits(v & ((1u << spot) - 1u)); }
