//! Ranges of docIDs that may have one of the best documents.

use super::*;
use crate::query::cpu::ranges;

/// `ranges`.
pub static RANGES: OrMethod = OrMethod {
    name: "ranges",
    short: "ranges",
    about: "looks into ranges of docIDs that may have one of the best documents, the most promising first; the CPU uses a bitmap and score bounds of long lists, from the index (`--tables`) or kept in memory once that pays; until then it uses block-max-maxscore, and with negative weights exhaustive",
    paper: "Dimopoulos, Nepomnyachiy, Suel: Optimizing top-k document retrieval strategies for block-max indexes (WSDM 2013, doi:10.1145/2433396.2433412); Culpepper, Moffat: Efficient set intersection for inverted indexing (TOIS 29(1), 2010, doi:10.1145/1877766.1877767)",
    cpu: Some(rank!(run, tables: true, negative: true)),
    gpu: Some(GpuOr::Ranges { prune: true }),
};

fn run(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    if terms.iter().any(|term| term.negative) {
        exhaustive::run(terms, scorer, top);
    } else if terms.iter().any(|term| term.table.is_some()) {
        ranges::run(terms, false, scorer, top);
    } else {
        block_max_maxscore::run(terms, scorer, top);
    }
}
