//! A document at a time without bounds: what skipping by them saves.

use super::{AndMethod, CpuAnd, daat};
use crate::postings::{END, Postings as _};
use crate::query::cpu::{self, Scored, Scorer};
use crate::query::topk::{Hit, TopK};

/// `ranked-and`.
pub static RANKED_AND: AndMethod = AndMethod {
    name: "ranked-and",
    short: "ranked-and",
    about: "as daat, but without bounds: scores every document that has all terms",
    paper: "Ding et al.: Using graphics processors for high performance IR query processing (WWW 2009), section 8, on the CPU",
    cpu: Some(CpuAnd {
        intersect: daat::intersect,
        rank: cpu::rank!(rank, tables: false, negative: true),
        filter: None,
    }),
    gpu: None,
};

pub(super) fn rank(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    terms.sort_by_key(|term| term.cursor.list().df());
    let Some((shortest, others)) = terms.split_first_mut() else { return };
    let mut doc = shortest.cursor.doc();
    'candidates: while doc != END {
        for other in others.iter_mut() {
            let found = other.cursor.seek(doc);
            if found > doc {
                doc = shortest.cursor.seek(found);
                continue 'candidates;
            }
        }
        let score = shortest.score(scorer) + others.iter_mut().map(|other| other.score(scorer)).sum::<f32>();
        top.push(Hit { doc, score });
        doc = shortest.cursor.advance();
    }
}
