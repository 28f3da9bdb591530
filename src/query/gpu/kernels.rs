//! The kernels of ranges, put together for an index, a codec and an adapter.

use super::arena::Arena;
use super::or::By;
use crate::Result;
use crate::codec::{Codec, Memory, Shader, TEAM};
use crate::gpu::kernel::{constants, unroll};
use crate::gpu::{Access, Gpu, Kernel, Pipeline};
use crate::query::Scores;
use crate::query::topk::{GpuTopK, TopKMethod};

/// Teams of a workgroup.
pub const TEAMS: u32 = 4;
/// Threads of a workgroup.
pub const THREADS: u32 = TEAMS * TEAM;
/// Ranges that a workgroup bounds: 16 a thread.
pub const TILE: u32 = 16 * THREADS;
/// Classes that scores are counted by.
pub const BUCKETS: u32 = 1024;
/// Words of a batch's state before that of its queries.
pub const HEAD: u32 = 16;
/// Classes that range bounds are counted by.
const BOUND_BUCKETS: u32 = 256;
/// Which word of a query's state counts its hits.
pub const HITS: u32 = 1;
/// Words of a query's state.
pub const STATE: u32 = 8 + BUCKETS + BOUND_BUCKETS;
/// Waves of ranges, each with a higher threshold than the one before; at most 7.
pub const WAVES: u32 = 4;
/// Ranges of an entry of a table's directory.
pub const DIRECTORY: u32 = 64;
/// Bits of a range bound.
pub const BOUND_BITS: u32 = 16;

/// How kernels call the memory for tables.
pub const TABLES: Memory = Memory { name: "tables", prefix: "table_", ..Memory::ONE };

/// The ranges of docIDs that an index is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// Documents of the index.
    pub documents: u32,
    /// A range has 2^shift docIDs.
    pub shift: u32,
}

impl Ranges {
    /// Narrow ranges have tight bounds, few ranges are quickly looked through: 64 docIDs, or more if there would be more than some
    /// 260,000 ranges. `bits`: 2 to the power of this instead.
    pub fn of(documents: u32, bits: Option<u32>) -> Self {
        let narrow = (documents >> 18).checked_ilog2().map_or(0, |bits| bits + 1);
        Self { documents, shift: bits.unwrap_or(narrow.max(6)).clamp(5, 10) }
    }

    /// Number of ranges, rounded up to whole tiles.
    pub fn padded(self) -> u32 {
        (self.documents >> self.shift).saturating_add(1).next_multiple_of(TILE)
    }

    /// Words of a list's table: a byte a range, and a directory.
    pub fn table_words(self) -> u32 {
        self.padded() / 4 + self.padded() / DIRECTORY + 1
    }

    /// DF from which on a list has a table; below, its postings are looked through.
    pub fn table_df(self) -> u32 {
        (self.padded() / 128).max(256)
    }
}

impl Scores {
    /// How kernels add up scores.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Bm25 => include_str!("../../../shaders/rank/bm25.wgsl"),
            Self::Impacts => include_str!("../../../shaders/rank/impacts.wgsl"),
        }
    }
}

/// The kernels.
#[derive(Debug)]
pub struct Kernels {
    /// Range maxima of lists, a word each.
    pub maxima: Pipeline,
    /// The same as bytes.
    pub pack: Pipeline,
    /// Upper bounds of ranges.
    pub bounds: Pipeline,
    /// Waves.
    pub cuts: Pipeline,
    /// The ranges of a wave.
    pub select: Pipeline,
    /// The scores of these.
    pub evaluate: Pipeline,
    /// The hits that reach the threshold.
    pub gather: Pipeline,
    /// What OR by accumulators needs, if that is asked for.
    pub accumulators: Option<AccumulatorKernels>,
    /// The best k in the place of `gather`, if a method of the GPU is to choose them.
    pub topk: Option<GpuTopK>,
}

/// The kernels of OR by accumulators.
#[derive(Debug)]
pub struct AccumulatorKernels {
    /// Postings to accumulators.
    pub accumulate: Pipeline,
    /// Counts of accumulators by class.
    pub tally: Pipeline,
    /// The hits.
    pub collect: Pipeline,
}

/// What the text of a kernel is put together from.
pub(super) struct Parts<'a> {
    pub(super) codec: &'a dyn Codec,
    pub(super) shader: Shader,
    pub(super) lists: Memory,
    /// If the kernels know of tables.
    pub(super) tables: Option<Memory>,
    pub(super) constants: String,
    pub(super) subgroups: bool,
    /// Words of workgroup memory that the kernels which decode declare themselves, at most.
    pub(super) workgroup_words: u32,
}

impl Parts<'_> {
    /// A kernel that decodes: the arenas' buffers come first.
    pub(super) fn decoder(
        &self,
        name: &'static str,
        text: &str,
        common: &[&str],
        own: &'static [Access],
        immediates: u32,
        (teams, access): (u32, Access),
    ) -> Kernel {
        let mut source = self.shader.text(self.lists, self.codec.block_len(), teams, self.subgroups);
        source += &self.constants;
        source += &self.tables.map(Memory::text).unwrap_or_default();
        common.iter().for_each(|text| source += text);
        source += &Shader::with_teams(&unroll(&self.bound(text, access), TILE / THREADS), self.subgroups);
        if let Some(tables) = self.tables.filter(|_| access == Access::ReadWrite) {
            source += &tables.store();
        }
        let workgroup_bytes = self.shader.workgroup_bytes(teams, self.subgroups) + 4 * self.workgroup_words;
        let lists = vec![Access::Read; self.lists.segments as usize];
        let tables = vec![access; self.tables.map_or(0, |tables| tables.segments) as usize];
        let bindings = [lists, tables, own.to_vec()].concat();
        Kernel { name, source, bindings, immediate_bytes: immediates, workgroup_bytes }
    }

    /// A kernel that does not.
    fn plain(
        &self,
        name: &'static str,
        text: &str,
        common: &[&str],
        own: &'static [Access],
        immediates: u32,
    ) -> Kernel {
        let mut source = constants(&[("THREADS", THREADS)]) + &self.constants;
        common.iter().for_each(|text| source += text);
        source += text;
        let workgroup_bytes = 4 * (BUCKETS + THREADS + 16);
        Kernel { name, source, bindings: own.to_vec(), immediate_bytes: immediates, workgroup_bytes }
    }

    /// The text with the arenas' bindings and the numbers of the others put in. Tables are read, or also written.
    fn bound(&self, text: &str, access: Access) -> String {
        let first = self.lists.segments;
        let tables = self.tables.map_or(0, |tables| tables.segments);
        let bindings = self.lists.bindings(0, Access::Read)
            + &self.tables.map(|tables| tables.bindings(first, access)).unwrap_or_default();
        let mut text = text.replace("//BINDINGS", &bindings);
        for i in 0..16 {
            let number = first + tables + i;
            text = text.replace(&format!("@binding(NEXT+{i})"), &format!("@binding({number})"));
        }
        text
    }
}

/// Rounds of `locate` in the longest list that there can be: each leaves a thirty-second part of the blocks.
pub(super) fn search_rounds(documents: u32, codec: &dyn Codec) -> u32 {
    documents.div_ceil(codec.block_len() as u32).max(1).ilog2() / 5 + 1
}

impl Kernels {
    /// Compiles them.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn new(
        gpu: &Gpu,
        codec: &dyn Codec,
        [lists, tables]: [&Arena; 2],
        ranges: Ranges,
        scores: Scores,
        (topk, or): (&'static TopKMethod, By),
    ) -> Result<Self> {
        use Access::{Read as R, ReadWrite as W};
        let shared = constants(&[
            ("DOCS", ranges.documents),
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
            ("HEADER", codec.header_words() as u32),
            ("SEARCH", search_rounds(ranges.documents, codec)),
            ("RANGES_EVALUATED", 8),
            ("BLOCKS_DECODED", 9),
        ]);
        let parts = Parts {
            codec,
            shader: codec.shader(),
            lists: lists.memory(),
            tables: Some(tables.memory()),
            constants: shared,
            subgroups: gpu.subgroups() == Some((TEAM, TEAM)),
            workgroup_words: TILE + BUCKETS + THREADS + 16,
        };
        let list =
            concat!(include_str!("../../../shaders/rank/list.wgsl"), include_str!("../../../shaders/rank/range.wgsl"));
        let scores = scores.text();
        let state =
            concat!(include_str!("../../../shaders/rank/scan.wgsl"), include_str!("../../../shaders/rank/state.wgsl"));
        let pipeline = |kernel: Kernel| gpu.pipeline(&kernel);
        Ok(Self {
            maxima: pipeline(parts.decoder(
                "maxima",
                include_str!("../../../shaders/rank/maxima.wgsl"),
                &[list, scores],
                &[R, R, R, W],
                8,
                (TEAMS, R),
            ))?,
            pack: pipeline(parts.decoder(
                "pack",
                include_str!("../../../shaders/rank/pack.wgsl"),
                &[list, scores],
                &[R, R, R, R],
                8,
                (TEAMS, W),
            ))?,
            bounds: pipeline(parts.decoder(
                "bounds",
                include_str!("../../../shaders/rank/bounds.wgsl"),
                &[list, scores, state],
                &[R, R, R, W, W, W],
                4,
                (TEAMS, R),
            ))?,
            cuts: pipeline(parts.plain("cuts", include_str!("../../../shaders/rank/cuts.wgsl"), &[state], &[R, W], 8))?,
            select: pipeline(parts.plain(
                "select",
                include_str!("../../../shaders/rank/select.wgsl"),
                &[state],
                &[R, R, W, W, R],
                12,
            ))?,
            evaluate: pipeline(parts.decoder(
                "evaluate",
                include_str!("../../../shaders/rank/evaluate.wgsl"),
                &[list, scores, state],
                &[R, R, R, R, R, W, W],
                12,
                (1, R),
            ))?,
            gather: pipeline(parts.plain(
                "gather",
                include_str!("../../../shaders/rank/gather.wgsl"),
                &[state],
                &[R, W, W, R],
                12,
            ))?,
            accumulators: (or == By::Accumulators)
                .then(|| accumulators(gpu, &parts, &[list, scores], state))
                .transpose()?,
            topk: GpuTopK::unless_on_host(gpu, topk)?,
        })
    }
}

fn accumulators(gpu: &Gpu, parts: &Parts<'_>, lists: &[&str], state: &str) -> Result<AccumulatorKernels> {
    use Access::{Read as R, ReadWrite as W};
    let accumulate = include_str!("../../../shaders/rank/accumulate.wgsl");
    let tally = include_str!("../../../shaders/rank/tally.wgsl");
    let collect = include_str!("../../../shaders/rank/collect.wgsl");
    let accumulate = parts.decoder("accumulate", accumulate, lists, &[R, R, R, W, W], 4, (TEAMS, R));
    Ok(AccumulatorKernels {
        accumulate: gpu.pipeline(&accumulate)?,
        tally: gpu.pipeline(&parts.plain("tally", tally, &[state], &[R, R, W], 4))?,
        collect: gpu.pipeline(&parts.plain("collect", collect, &[state], &[R, R, W, W], 8))?,
    })
}
