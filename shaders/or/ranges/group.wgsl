// How a list's postings lie by range. Each has 16 bits: the low ones are the document's place in a group of ranges, and
// the others what its score needs, or all ones if that needs more. In front of them stands for each group the position
// of its first posting, and behind the last group the number of all postings. Groups are single ranges if there is a
// posting for every fourth range or more, and else 2^GROUP ranges, so that few postings are read in vain.
//
// Constants: SHIFT, a range has 2^SHIFT docIDs; PADDED, ranges; DENSE, postings from which on groups are single ranges.

// A group has 2 to the power of this many ranges.
fn group_bits(t: Term) -> u32 {
    return select(GROUP, 0u, t.df >= DENSE);
}
