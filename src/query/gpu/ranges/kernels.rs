//! Puts the kernels of ranges together, for an index, a codec and an adapter.

use crate::gpu::{Access, Assembler, Gpu, GpuError, Kernel, Memory, Pipeline, wgsl};
use crate::query::gpu::kernels::{Parts, TEAMS, THREADS};
use crate::query::gpu::rows::{
    BY_BLOCKS, BY_TILE, BlocksJob, BoundsParams, ChooseParams, CollectParams, CutParams, EvaluateParams, GatherParams,
    Head, JobParams, ListParams, PlaceRow, QueryParams, QueryRow, RarestParams, SelectParams, State,
};

/// A workgroup bounds so many ranges: 16 a thread.
pub const TILE: u32 = 16 * THREADS;
// `bounds` has four times four in registers
const _: () = assert!(TILE / THREADS == 16);
/// Number of classes by which scores are counted.
pub const BUCKETS: u32 = 1024;
/// Number of classes by which range bounds are counted.
pub const BOUND_BUCKETS: u32 = 256;
/// Number of waves of ranges, at most 7. Each wave has a higher threshold than the one before.
pub const WAVES: u32 = 4;
/// Ranges of an entry of a table's directory.
pub const DIRECTORY: u32 = 16;
/// Bits of a range bound.
pub const BOUND_BITS: u32 = 16;
/// The memory for tables, by the name that kernels have for it.
pub const TABLES: Memory = Memory { name: "tables", prefix: "table_", ..Memory::ONE };
/// The memory for postings by range, by the name that kernels have for it.
pub const BY_RANGE: Memory = Memory { name: "by_range", prefix: "by_range_", ..Memory::ONE };
/// A group of ranges has 2 to the power of this many of them.
const GROUP: u32 = 4;
/// The same in lists without tables: with four postings or fewer in the mean, unless the index is small.
const WIDE_GROUP: u32 = 8;
/// A workgroup evaluates so many ranges at a time, at most. More are no faster on an H100, 4 are slower.
const MATES: u32 = 8;
/// These have so many documents, at most, unless one range has more.
const MATES_DOCUMENTS: u32 = 512;

/// The ranges of docIDs that an index is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// Documents of the index.
    pub documents: u32,
    /// A range has 2^shift docIDs.
    pub shift: u32,
}

impl Ranges {
    /// Cuts into ranges of 64 docIDs, or of more if there would be more than some 520,000 ranges. Narrow ranges have
    /// tight bounds, but few ranges are looked through quickly. With `bits`, a range has 2 to the power of this many
    /// docIDs.
    pub fn of(documents: u32, bits: Option<u32>) -> Self {
        let narrow = (documents >> 19).checked_ilog2().map_or(0, |bits| bits + 1);
        Self { documents, shift: bits.unwrap_or(narrow.max(6)).clamp(6, 10) }
    }

    /// Number of ranges, rounded up to whole tiles.
    pub fn padded(self) -> u32 {
        (self.documents >> self.shift).saturating_add(1).next_multiple_of(TILE)
    }

    /// Words of a list's table: a byte a range, and a directory.
    pub fn table_words(self) -> u32 {
        self.padded() / 4 + self.padded() / DIRECTORY + 1
    }

    /// Whether a list lies by range, too, if there is room: a range then needs no block of it. Of lists with tables,
    /// only if a document's place in a group of ranges leaves bits for a frequency.
    pub fn lies_by_range(self, df: u32) -> bool {
        df < self.table_df() || self.shift + GROUP <= 11
    }

    /// A list with a table and so many postings lies by single ranges, a shorter one by groups of ranges.
    fn dense_df(self) -> u32 {
        self.padded() / 4
    }

    /// Words of a list's postings by range: where each group begins, and the postings.
    pub fn by_range_words(self, df: u32) -> u32 {
        let (group, words) = match df {
            _ if df < self.table_df() => (WIDE_GROUP, 4),
            _ if df < self.dense_df() => (GROUP, 2),
            _ => (0, 2),
        };
        (self.padded() >> group) + 1 + df.div_ceil(4) * words
    }

    /// A list with so many postings at most has few enough ranges to look them up one by one in the other terms'
    /// tables, which takes longer for each than going through all ranges.
    fn short(self) -> u32 {
        self.padded() / 8
    }

    /// The term of a query for documents with all terms whose list is short, if one is: the shortest. Only its ranges
    /// can have a match, this many at most.
    pub fn rarest(self, dfs: impl Iterator<Item = u32>) -> Option<(usize, u32)> {
        let (term, df) = dfs.enumerate().min_by_key(|&(_, df)| df)?;
        (df <= self.short()).then_some((term, df))
    }

    /// A list has a table from this df on. The postings of shorter lists are looked through: up to 32 a tile in the
    /// mean, or fewer than 256 where the index is small.
    pub fn table_df(self) -> u32 {
        (self.padded() / 64).max(256)
    }
}

/// The kernels, in the order in which they run.
#[derive(Debug)]
pub struct Kernels {
    /// `maxima`, `pack` and `unpack`.
    pub tables: Vec<Pipeline>,
    /// `bounds`, `cuts`, `select`, `evaluate`, `rarest` and `choose`.
    pub ranges: Vec<Pipeline>,
    /// `gather`.
    pub gather: Pipeline,
    /// `accumulate`, `tally` and `collect`; empty if nobody asks for accumulators.
    pub accumulators: Vec<Pipeline>,
}

/// The kernels of ranges: maxima, pack, unpack, bounds, cuts, select, evaluate, rarest, choose, gather; and those of
/// accumulators: accumulate, tally, collect.
///
/// # Errors
/// [`GpuError::Shader`]
pub(in crate::query::gpu) fn texts(
    parts: &Parts<'_>,
    [tables, by_range]: [Memory; 2],
    ranges: Ranges,
) -> Result<([Kernel; 10], [Kernel; 3]), GpuError> {
    let shared = [
        ("SHIFT", ranges.shift),
        ("WIDTH", 1 << ranges.shift),
        ("PADDED", ranges.padded()),
        ("TILE", TILE),
        ("EACH", TILE / THREADS),
        ("BUCKETS", BUCKETS),
        ("BOUND_BUCKETS", BOUND_BUCKETS),
        ("BOUND_BUCKET", BOUND_BITS - BOUND_BUCKETS.ilog2()),
        ("WAVES", WAVES),
        ("DIRECTORY", DIRECTORY),
        ("TABLE", ranges.table_words()),
        ("NO_CUT", u32::MAX),
        ("MATES", (MATES_DOCUMENTS >> ranges.shift).clamp(1, MATES)),
        ("GROUP", GROUP),
        ("WIDE_GROUP", WIDE_GROUP),
        ("TILE_BITS", TILE.ilog2()),
        ("DENSE", ranges.dense_df()),
        ("TABLED", ranges.table_df()),
        ("BY_TILE", BY_TILE),
        ("BY_BLOCKS", BY_BLOCKS),
    ];
    let with_state = |assembler: Assembler| {
        let assembler = assembler.constants(&shared).constants(Head::CONSTANTS).constants(State::CONSTANTS);
        assembler.rows::<QueryRow>("queries").rows::<BlocksJob>("jobs").rows::<PlaceRow>("places")
    };
    let reads = |teams| with_state(parts.assembler(teams)).provide("tables", [tables.piece(Access::Read)]);
    let teams = reads(TEAMS);
    let by_range_too = |assembler: Assembler, access| assembler.provide("by_range", [by_range.piece(access)]);
    let team = by_range_too(reads(1), Access::Read);
    let by_range_reader = by_range_too(teams.clone(), Access::Read);
    let unpacks = by_range_too(teams.clone(), Access::ReadWrite);
    let writes = teams.clone().provide("tables", [tables.piece(Access::ReadWrite)]);
    let plain = with_state(Assembler::new().constants(&[("THREADS", THREADS), ("DOCS", ranges.documents)]));
    let ranges = [
        teams.clone().params::<JobParams>().kernel("maxima", wgsl!("or/ranges/maxima"))?,
        writes.clone().params::<ListParams>().kernel("pack", wgsl!("or/ranges/pack"))?,
        unpacks.params::<JobParams>().kernel("unpack", wgsl!("or/ranges/unpack"))?,
        by_range_reader.clone().params::<BoundsParams>().kernel("bounds", wgsl!("or/ranges/bounds"))?,
        plain.clone().params::<CutParams>().kernel("cuts", wgsl!("or/ranges/cuts"))?,
        plain.clone().params::<SelectParams>().kernel("select", wgsl!("or/ranges/select"))?,
        team.clone().params::<EvaluateParams>().kernel("evaluate", wgsl!("or/ranges/evaluate"))?,
        by_range_reader.clone().params::<RarestParams>().kernel("rarest", wgsl!("or/ranges/rarest"))?,
        plain.clone().params::<ChooseParams>().kernel("choose", wgsl!("or/ranges/choose"))?,
        plain.clone().params::<GatherParams>().kernel("gather", wgsl!("or/ranges/gather"))?,
    ];
    let accumulators = [
        teams.clone().params::<JobParams>().kernel("accumulate", wgsl!("or/accumulators/accumulate"))?,
        plain.clone().params::<QueryParams>().kernel("tally", wgsl!("or/accumulators/tally"))?,
        plain.clone().params::<CollectParams>().kernel("collect", wgsl!("or/accumulators/collect"))?,
    ];
    Ok((ranges, accumulators))
}

impl Kernels {
    /// Compiles the kernels of ranges, and with `accumulators` those of accumulators, too.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub(in crate::query::gpu) fn new(
        gpu: &Gpu,
        parts: &Parts<'_>,
        memories: [Memory; 2],
        ranges: Ranges,
        accumulators: bool,
    ) -> Result<Self, GpuError> {
        let (by_ranges, by_accumulators) = texts(parts, memories, ranges)?;
        let [maxima, pack, unpack, bounds, cuts, select, evaluate, rarest, choose, gather] = &by_ranges;
        let [accumulate, tally, collect] = &by_accumulators;
        // all at once, on all cores
        let wanted = by_ranges.iter().chain(by_accumulators.iter().filter(|_| accumulators));
        gpu.pipelines(wanted)?;
        let pipelines = |kernels: &[&Kernel]| gpu.pipelines(kernels.iter().copied());
        Ok(Self {
            tables: pipelines(&[maxima, pack, unpack])?,
            ranges: pipelines(&[bounds, cuts, select, evaluate, rarest, choose])?,
            gather: gpu.pipeline(gather)?,
            accumulators: if accumulators { pipelines(&[accumulate, tally, collect])? } else { Vec::new() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_the_rarest_term_has_a_short_list() {
        let ranges = Ranges::of(1_000_000, None);
        let short = ranges.padded() / 8;
        assert_eq!(ranges.rarest([short + 1, short + 2].into_iter()), None);
        assert_eq!(ranges.rarest([900_000, short, 7, 7].into_iter()), Some((2, 7)));
        assert_eq!(ranges.rarest(std::iter::empty()), None);
    }
}
