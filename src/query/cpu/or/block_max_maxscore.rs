//! MaxScore with bounds per block.

use super::*;

/// `block-max-maxscore`.
pub static BLOCK_MAX_MAXSCORE: OrMethod = OrMethod {
    name: "block-max-maxscore",
    short: "bmm",
    about: "as maxscore, and leaves out the blocks whose bounds do not reach the threshold",
    paper: "Chakrabarti, Chaudhuri, Ganti: Interval-based pruning for top-k processing over compressed lists (ICDE 2011, doi:10.1109/ICDE.2011.5767855); Dimopoulos, Nepomnyachiy, Suel: Optimizing top-k document retrieval strategies for block-max indexes (WSDM 2013, doi:10.1145/2433396.2433412)",
    run: run!(run),
};

fn run(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK) {
    let slack = scorer.slack(terms.len());
    let mut sums = Sum::new(terms.len());
    terms.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let below = bounds_below(terms);
    // The first `optional` terms together reach no more than the threshold, so a document needs one of the others.
    let mut optional = 0;
    let mut checked_until = 0;
    // Where the cursors of the others stand, apart from all else that a cursor has.
    let mut heads: Vec<u32> = terms.iter().map(|term| term.cursor.doc()).collect();
    let mut doc = heads.iter().copied().min().unwrap_or(END);
    while doc != END {
        let (rest, needed) = terms.split_at_mut(optional);
        if doc >= checked_until && top.threshold() >= 0.0 {
            let (bound, until) = blocks_bound(needed, doc, scorer);
            checked_until = until;
            if (bound + below[optional]) * slack <= top.threshold() {
                doc = END;
                for (head, term) in heads.iter_mut().zip(needed) {
                    *head = term.cursor.next_geq(until);
                    doc = doc.min(*head);
                }
                continue;
            }
        }
        let mut sum = 0.0;
        let mut next = END;
        for (head, term) in heads.iter_mut().zip(needed) {
            if *head == doc {
                sum += term.score(scorer);
                *head = term.cursor.advance();
            } else {
                term.part = 0.0;
            }
            next = next.min(*head);
        }
        let hopeful = add_optional(rest, doc, &mut sum, &below, slack, scorer, top.threshold());
        if hopeful && sum * slack > top.threshold() {
            top.push(Hit { doc, score: sums.of(terms) });
            let before = optional;
            while optional < terms.len() && below[optional + 1] * slack <= top.threshold() {
                optional += 1;
            }
            if optional > before {
                heads.drain(..optional - before);
                next = heads.iter().copied().min().unwrap_or(END);
                checked_until = 0;
            }
        }
        doc = next;
    }
}

/// Adds what the optional terms have for `doc` to `sum`, the term with the highest bound first; false as soon as it is
/// certain that the sum does not pass the threshold.
fn add_optional(
    rest: &mut [Scored<'_>],
    doc: u32,
    sum: &mut f32,
    below: &[f32],
    slack: f32,
    scorer: &impl Scorer,
    threshold: f32,
) -> bool {
    for (i, term) in rest.iter_mut().enumerate().rev() {
        if (*sum + below[i + 1]) * slack <= threshold {
            return false;
        }
        term.part = 0.0;
        if term.cursor.doc() < doc {
            let (bound, _) = term.bound_at(doc, scorer);
            if (*sum + below[i] + bound) * slack <= threshold {
                return false;
            }
            term.cursor.next_geq(doc);
        }
        if term.cursor.doc() == doc {
            *sum += term.score(scorer);
        }
    }
    true
}
