//! The rows and parameters that cross to the device with a batch of queries, and the words that kernels keep there.

use super::ranges::kernels::{BOUND_BUCKETS, BUCKETS, WAVES};
use crate::gpu::{gpu_struct, gpu_words};

/// Stands for "none" in a row.
pub const NONE: u32 = u32::MAX;
/// In [`QueryRow::untabled`]: some terms without a table lie by tile.
pub const BY_TILE: u32 = 1;
/// In [`QueryRow::untabled`]: some terms have neither, and blocks of theirs are decoded.
pub const BY_BLOCKS: u32 = 2;

gpu_struct! {
    /// A term of a query: where its list is, and what it weighs.
    pub struct TermRow as "Term" {
        /// Address of the list's first word.
        pub list: u32,
        /// Address of its skip entries. Without meaning if there is one block.
        pub skips: u32,
        /// Number of blocks.
        pub blocks: u32,
        /// Number of postings.
        pub df: u32,
        /// First docID.
        pub first: u32,
        /// Address of its frequencies or impacts. If all postings have the same one: that number.
        pub tf: u32,
        /// How the frequencies are kept: a [`TfKind`](super::placed::TfKind).
        pub kind: u32,
        /// For ranges, the address of its range maxima, or [`NONE`]. For intersections, 1 if its weight is negative.
        pub table: u32,
        /// Its weight, a whole number: the bits of a float, or with impacts the number itself.
        pub weight: u32,
        /// For ranges, the first word has the bits of a float: no posting adds more than this; the second is what
        /// each step of a range maximum adds to a sum of steps; the third is the address of its postings by range, or
        /// [`NONE`]. For intersections, these are the words that the method keeps with the list; the first is the
        /// address of a table.
        pub kept: [u32; 3],
    }
}

gpu_struct! {
    /// A query that is answered by ranges or accumulators.
    pub struct QueryRow as "Query" {
        /// Number of its first term.
        pub first: u32,
        /// Number of its terms.
        pub terms: u32,
        /// 1: a document needs all terms.
        pub all: u32,
        /// How many hits are wanted.
        pub k: u32,
        /// A range bound is a score shifted right by this and rounded up.
        pub bound_shift: u32,
        /// The class of a score is the score times this,
        pub class_times: u32,
        /// shifted right by this.
        pub class_shift: u32,
        /// As many documents as are wanted have this score or more.
        pub least: u32,
        /// A range bound is a sum of steps shifted right by this, and a little more.
        pub step_shift: u32,
        /// Only ranges with a posting of this term can have a match; [`NONE`]: any range can.
        pub rarest: u32,
        /// The first slot of these ranges.
        pub candidates: u32,
        /// What it has of terms without tables: [`BY_TILE`], [`BY_BLOCKS`].
        pub untabled: u32,
    }
}

gpu_struct! {
    /// Some blocks of a term's list, or some candidate ranges of a query.
    pub struct BlocksJob as "Job" {
        /// Number of the term.
        pub term: u32,
        /// The first block, or the first range.
        pub block: u32,
        /// How many of them.
        pub blocks: u32,
        /// Number of the query that they are for, or of the table among those that are made at once.
        pub to: u32,
    }
}

gpu_struct! {
    /// Where the table of a list goes.
    pub struct PlaceRow as "Place" {
        /// Its address.
        pub at: u32,
        /// Number of a term with the list.
        pub term: u32,
    }
}

gpu_struct! {
    /// A query that is answered by an intersection.
    pub struct CandidateQuery as "Query" {
        /// Number of its first term.
        pub first: u32,
        /// Number of its terms.
        pub terms: u32,
        /// The first slot of its candidates.
        pub start: u32,
        /// How many candidates it has at most.
        pub room: u32,
        /// The class of a score is the score times this,
        pub class_times: u32,
        /// shifted right by this.
        pub class_shift: u32,
        /// What every score has more than it is, so that none is negative.
        pub bias: u32,
    }
    padding 1
}

gpu_struct! {
    /// A part of the work for a query.
    pub struct PartJob as "Job" {
        /// The query.
        pub query: u32,
        /// Which part.
        pub part: u32,
    }
}

gpu_struct! {
    /// Parameters of a pass over jobs.
    pub struct JobParams as "Params" {
        /// The first of the jobs.
        pub first: u32,
        /// How many jobs.
        pub jobs: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that bounds the ranges of short lists.
    pub struct RarestParams as "Params" {
        /// The first of the pass's jobs.
        pub first: u32,
        /// How many jobs.
        pub jobs: u32,
        /// 1: all these ranges are evaluated, in one wave.
        pub direct: u32,
    }
}

gpu_struct! {
    /// Parameters of a pass over lists.
    pub struct ListParams as "Params" {
        /// The first of the lists.
        pub first: u32,
        /// How many lists.
        pub lists: u32,
    }
}

gpu_struct! {
    /// Parameters of a pass over queries.
    pub struct QueryParams as "Params" {
        /// How many queries.
        pub queries: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that bounds ranges.
    pub struct BoundsParams as "Params" {
        /// How many queries.
        pub queries: u32,
        /// How many ranges of each tile are for the first wave; 0 if later passes select that.
        pub picks: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that cuts ranges into waves.
    pub struct CutParams as "Params" {
        /// How many queries.
        pub queries: u32,
        /// How many counted bounds the first wave should have. Each later wave has four times as many.
        pub first: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that selects the ranges of a wave.
    pub struct SelectParams as "Params" {
        /// How many queries.
        pub queries: u32,
        /// The wave, from 0 on.
        pub wave: u32,
        /// 1: select all ranges that are left, however low their bounds are.
        pub last: u32,
        /// A workgroup takes so many tiles.
        pub tiles: u32,
        /// How many counted bounds the wave should have; 0 if that was found before, or for the last wave.
        pub wanted: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that chooses the candidate ranges of a wave.
    pub struct ChooseParams as "Params" {
        /// The first of the pass's jobs.
        pub first: u32,
        /// How many jobs.
        pub jobs: u32,
        /// The wave, from 0 on.
        pub wave: u32,
        /// 1: choose all that are left, however low their bounds are.
        pub last: u32,
        /// As of [`SelectParams`].
        pub wanted: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that evaluates ranges.
    pub struct EvaluateParams as "Params" {
        /// The wave, from 0 on.
        pub wave: u32,
        /// Hits that a query has room for.
        pub room: u32,
        /// 0: evaluate every range, whatever its bound.
        pub prune: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that collects hits from accumulators.
    pub struct CollectParams as "Params" {
        /// How many queries.
        pub queries: u32,
        /// Hits that a query has room for.
        pub room: u32,
    }
}

gpu_struct! {
    /// Parameters of the pass that brings hits together for the host.
    pub struct GatherParams as "Params" {
        /// How many queries.
        pub queries: u32,
        /// Hits that a query has room for.
        pub room: u32,
        /// Hits that all queries together may send to the host.
        pub most: u32,
    }
}

gpu_struct! {
    /// Parameters of every pass of an intersection.
    pub struct CandidateParams as "Params" {
        /// The first of the pass's jobs.
        pub first: u32,
        /// How many jobs.
        pub jobs: u32,
        /// 1 and up: the list that candidates are looked up in.
        pub round: u32,
        /// Slots of a half of the candidates.
        pub half: u32,
        /// 1 if scores are wanted.
        pub ranked: u32,
        /// Queries of the batch.
        pub queries: u32,
        /// In the passes of a method: its own number. In the passes after them: 1 if one round went over all lists, 0
        /// if there was a round for each list but the first.
        pub number: u32,
        /// In the passes of a method: its own number. In `choose`: how many results are wanted. In the passes after
        /// it: which results are wanted.
        pub other: u32,
        /// For passes with a workgroup a query: it goes through so many candidates, from candidate `number` on.
        pub span: u32,
    }
}

gpu_words! {
    /// The counters of a batch that is answered by ranges or accumulators.
    pub struct Head as "HEAD" {
        /// Ranges queued: a word for each wave, for at most eight waves.
        QUEUED: 8,
        /// Candidate ranges chosen: a word for each wave, as many.
        CHOSEN: 8,
        /// Ranges evaluated.
        EVALUATED: 1,
        /// Blocks decoded.
        BLOCKS: 1,
        /// Hits that go to the host.
        RESULTS: 1,
    }
}

gpu_words! {
    /// The counters of each query that is answered by ranges or accumulators.
    pub struct State as "STATE" {
        /// A score that at least k documents reach.
        THRESHOLD: 1,
        /// Number of hits.
        HITS: 1,
        /// How many scores were counted by class so far.
        SEEN: 1,
        /// Number of candidate ranges.
        CANDIDATES: 1,
        /// The lowest class of bounds of each wave but the last.
        CUTS: 6,
        /// Scores by class.
        SCORES: BUCKETS,
        /// Range bounds by class.
        BOUNDS: BOUND_BUCKETS,
    }
}

const _: () = assert!(WAVES <= 7, "a batch has words for seven waves");

gpu_words! {
    /// The counters of a batch of intersections.
    pub struct CandidateHead as "HEAD" {
        /// Results of all queries.
        RESULTS: 1,
        /// Blocks decoded.
        BLOCKS: 1,
    }
}

gpu_words! {
    /// The counters of each query of a batch of intersections. The first words of all queries come before their second
    /// words.
    pub struct CandidateState as "QUERY" {
        /// Candidates before a round, and candidates after it. The two change places from round to round.
        COUNTS: 2,
        /// Where results go.
        PLACE: 1,
        /// The least score of results that are wanted.
        LEAST: 1,
        /// How many results are wanted.
        WANTED: 1,
    }
}
