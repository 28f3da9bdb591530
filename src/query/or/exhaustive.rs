//! Every posting of every term.

use super::*;

/// `exhaustive`.
pub static EXHAUSTIVE: OrMethod = OrMethod {
    name: "exhaustive",
    short: "exhaustive",
    about: "scores every posting of every term, a document at a time",
    paper: "Turtle, Flood: Query evaluation: strategies and optimizations (IP&M 31(6), 1995, doi:10.1016/0306-4573(95)00020-H), section 2",
    cpu: Some(rank!(run, tables: false, negative: true)),
    gpu: None,
};

pub(super) fn run(terms: &mut [Scored<'_, impl Postings>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    let mut doc = terms.iter().map(|term| term.cursor.doc()).min().unwrap_or(END);
    while doc != END {
        let (mut score, mut next) = (0.0, END);
        for term in terms.iter_mut() {
            if term.cursor.doc() == doc {
                score += term.score(scorer);
                term.cursor.advance();
            }
            next = next.min(term.cursor.doc());
        }
        top.push(Hit { doc, score });
        doc = next;
    }
}
