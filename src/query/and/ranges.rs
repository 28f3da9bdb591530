//! Ranges of docIDs that may have one of the best documents.

use super::{AndMethod, CpuAnd, GpuAnd, daat, ranked_and};
use crate::query::cpu::{self, Scored, Scorer, ranges};
use crate::query::topk::TopK;

/// `ranges`. Without scores no range is better than another, and it does what [`super::DAAT`] does.
pub static RANGES: AndMethod = AndMethod {
    name: "ranges",
    short: "ranges",
    about: "looks into ranges of docIDs that may have one of the best documents, the most promising first; the CPU uses a bitmap and score bounds of long lists, from the index (`--tables`) or kept in memory once that pays; until then it uses daat, and with negative weights ranked-and",
    paper: "Dimopoulos, Nepomnyachiy, Suel: Optimizing top-k document retrieval strategies for block-max indexes (WSDM 2013, doi:10.1145/2433396.2433412); Culpepper, Moffat: Efficient set intersection for inverted indexing (TOIS 29(1), 2010, doi:10.1145/1877766.1877767)",
    cpu: Some(CpuAnd {
        intersect: daat::intersect,
        rank: cpu::rank!(rank, tables: true, negative: true),
        filter: None,
    }),
    gpu: Some(GpuAnd::Ranges),
};

fn rank(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    if terms.iter().any(|term| term.negative) {
        ranked_and::rank(terms, scorer, top);
    } else if terms.iter().any(|term| term.table.is_some()) {
        ranges::run(terms, true, scorer, top);
    } else {
        daat::rank(terms, scorer, top);
    }
}
