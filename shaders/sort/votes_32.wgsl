// Which lanes of a subgroup of at most 32 say yes.
alias Votes = u32;

fn votes(yes: bool) -> Votes {
    return subgroupBallot(yes).x;
}

fn lowest(v: Votes) -> u32 {
    return firstTrailingBit(v);
}

fn count(v: Votes) -> u32 {
    return countOneBits(v);
}

// The lanes before this one.
fn below(lane: u32) -> Votes {
    return (1u << lane) - 1u;
}
