//! Ranges of docIDs that may have one of the best documents.

use super::{CpuIntersect, Intersector, On, Ranking, daat};

/// `ranges`. Without scores no range is better than another, and it does what [`super::DAAT`] does.
pub static RANGES: Intersector = Intersector {
    name: "ranges",
    about: "looks into ranges of 16 docIDs, the most promising first; which documents a long list has, and bounds of its postings, are kept in memory once queries have read as much of it as that takes; without scores as daat",
    paper: "Dimopoulos, Nepomnyachiy, Suel: Optimizing top-k document retrieval strategies for block-max indexes (WSDM 2013, doi:10.1145/2433396.2433412); Culpepper, Moffat: Efficient set intersection for inverted indexing (TOIS 29(1), 2010, doi:10.1145/1877766.1877767)",
    on: On::Cpu(CpuIntersect { run: daat::run, ranking: Ranking::ByRanges }),
};
