//! Document at a time: conjunctions by the rarest term, disjunctions by MaxScore.
//!
//! MaxScore: Turtle and Flood, *Query evaluation: strategies and optimizations*, IP&M 31(6), 1995,
//! doi:10.1016/0306-4573(95)00020-H; with bounds per block as in Ding and Suel, *Faster top-k document
//! retrieval using block-max indexes*, SIGIR 2011, doi:10.1145/2009916.2010048.

use super::{Hit, Scored, Scorer, TopK};
use crate::index::END;

/// What rounding can make of a sum of `n` parts, as a factor with room to spare.
fn slack(n: usize) -> f32 {
    1.0 + (n as f32 + 4.0) * 2.4e-7
}

/// Adds the parts in the order of the query, whatever order the terms are in now.
fn total(terms: &[Scored<'_>], by_order: &mut [f32]) -> f32 {
    for term in terms {
        by_order[term.order] = term.part;
    }
    by_order.iter().sum()
}

/// What the blocks around `doc` can add up to, and the first docID for which that may change.
fn blocks_bound(terms: &mut [Scored<'_>], doc: u32, scorer: &Scorer<'_>) -> (f32, u32) {
    let mut sum = 0.0;
    let mut until = END;
    for term in terms {
        let (bound, end) = term.bound_at(doc, scorer);
        sum += bound;
        until = until.min(end);
    }
    (sum, until)
}

/// Documents that have all terms.
pub(super) fn and(terms: &mut [Scored<'_>], scorer: &Scorer<'_>, top: &mut TopK) {
    let slack = slack(terms.len());
    let mut by_order = vec![0.0; terms.len()];
    terms.sort_by_key(|term| term.cursor.df());
    // above[i]: what the terms from i on can add up to.
    let mut above = vec![0.0; terms.len() + 1];
    for i in (0..terms.len()).rev() {
        above[i] = above[i + 1] + terms[i].bound;
    }
    let mut doc = terms[0].cursor.doc();
    // Up to here the bounds of the blocks have been found wanting or are known to suffice.
    let mut checked_until = 0;
    'candidates: while doc != END {
        if doc >= checked_until && top.threshold() >= 0.0 {
            let (bound, until) = blocks_bound(terms, doc, scorer);
            checked_until = until;
            if bound * slack <= top.threshold() {
                doc = terms[0].cursor.next_geq(until);
                continue;
            }
        }
        let mut sum = terms[0].score(scorer);
        for i in 1..terms.len() {
            if (sum + above[i]) * slack <= top.threshold() {
                doc = terms[0].cursor.advance();
                continue 'candidates;
            }
            let found = terms[i].cursor.next_geq(doc);
            if found > doc {
                doc = terms[0].cursor.next_geq(found);
                continue 'candidates;
            }
            sum += terms[i].score(scorer);
        }
        top.push(Hit { doc, score: total(terms, &mut by_order) });
        doc = terms[0].cursor.advance();
    }
}

/// Documents that have any term.
pub(super) fn or(terms: &mut [Scored<'_>], scorer: &Scorer<'_>, top: &mut TopK) {
    let slack = slack(terms.len());
    let mut by_order = vec![0.0; terms.len()];
    terms.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    // below[i]: what the first i terms can add up to.
    let mut below = vec![0.0];
    for term in terms.iter() {
        below.push(below[below.len() - 1] + term.bound);
    }
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
            top.push(Hit { doc, score: total(terms, &mut by_order) });
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
    scorer: &Scorer<'_>,
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
