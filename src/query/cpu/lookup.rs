//! Given documents: each is looked up in the list of every term.

use super::*;

/// A look-up costs as much as so many postings that are read one after the other.
const COST: u64 = 16;

/// What the terms add up to in each of these documents, ascending, and how many of the terms it has. Sums of whole
/// numbers do not depend on their order, so they are those of every method.
pub(super) fn sums(terms: &mut [Scored<'_>], docs: &[u32], scorer: &impl Scorer) -> Vec<(f32, u32)> {
    let mut sums = vec![(0.0, 0); docs.len()];
    for term in terms {
        for (&doc, sum) in docs.iter().zip(&mut sums) {
            match term.cursor.seek(doc) {
                END => break,
                found if found == doc => *sum = (sum.0 + term.score(scorer), sum.1 + 1),
                _ => {}
            }
        }
    }
    sums
}

/// Pushes those of the documents that have any term, or if all are `required`, all terms.
pub(super) fn run(terms: &mut [Scored<'_>], docs: &[u32], required: bool, scorer: &impl Scorer, top: &mut TopK<'_>) {
    let least = if required { terms.len() as u32 } else { 1 };
    for (&doc, (score, found)) in docs.iter().zip(sums(terms, docs, scorer)) {
        if found >= least {
            top.push(Hit { doc, score });
        }
    }
}

/// Whether to look up so many documents is less work than to read the lists of a plan.
pub(super) fn pays(plan: &Plan, documents: usize) -> bool {
    let documents = documents as u64;
    let postings = plan.terms.iter().map(|term| u64::from(term.info.df));
    postings.clone().map(|df| df.min(documents)).sum::<u64>() * COST < postings.sum()
}
