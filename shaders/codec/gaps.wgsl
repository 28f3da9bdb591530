//#import codec/gap_sums

// What decode_block returns for gaps less one, laid out as gap_sums takes them: their docIDs. With SUMS = 0 the gaps
// stay what they are (Ding et al., figure 4: without the localized prefix sum).
fn docs_of_gaps(first: u32, gaps: Docs, me: Me) -> Docs {
    if SUMS == 0u {
        return gaps;
    }
    return gap_sums(first, gaps, me);
}
