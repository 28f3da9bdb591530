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
    let raised =
        |from: usize, threshold| from + below[from + 1..].iter().take_while(|most| **most <= threshold).count();
    let mut optional = raised(0, top.threshold());
    let mut doc = terms[optional..].iter().map(|term| term.cursor.doc()).min().unwrap_or(END);
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
            optional = raised(before, top.threshold());
            if optional > before {
                next = terms[optional..].iter().map(|term| term.cursor.doc()).min().unwrap_or(END);
            }
        }
        doc = next;
    }
}
