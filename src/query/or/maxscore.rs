//! MaxScore with one bound per list.

use super::*;

/// `maxscore`.
pub static MAXSCORE: OrMethod = OrMethod {
    name: "maxscore",
    short: "maxscore",
    about: "terms that cannot lift a document over the threshold by themselves are looked up only for documents of the others",
    paper: "Turtle, Flood: Query evaluation: strategies and optimizations (IP&M 31(6), 1995, doi:10.1016/0306-4573(95)00020-H)",
    cpu: Some(rank!(run)),
    gpu: None,
};

pub(super) fn run(terms: &mut [Scored<'_, impl Postings>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    terms.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let below = bounds_below(terms);
    let mut optional = 0;
    let mut doc = terms.iter().map(|term| term.cursor.doc()).min().unwrap_or(END);
    while doc != END {
        let (rest, needed) = terms.split_at_mut(optional);
        let (mut sum, mut next) = (0.0, END);
        for term in needed {
            if term.cursor.doc() == doc {
                sum += term.score(scorer);
                term.cursor.advance();
            }
            next = next.min(term.cursor.doc());
        }
        for (i, term) in rest.iter_mut().enumerate().rev() {
            if sum + below[i + 1] > top.threshold() && term.cursor.seek(doc) == doc {
                sum += term.score(scorer);
            }
        }
        if sum > top.threshold() {
            top.push(Hit { doc, score: sum });
            let before = optional;
            while optional < terms.len() && below[optional + 1] <= top.threshold() {
                optional += 1;
            }
            if optional > before {
                next = terms[optional..].iter().map(|term| term.cursor.doc()).min().unwrap_or(END);
            }
        }
        doc = next;
    }
}
