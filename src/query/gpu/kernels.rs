//! The kernels of ranges, put together for an index, a codec and an adapter.

use super::arena::Arena;
use crate::codec::{Codec, Memory, Shader, TEAM};
use crate::gpu::kernel::constants;
use crate::gpu::{Access, Gpu, GpuError, Kernel, Pipeline};

/// Teams of a workgroup.
pub const TEAMS: u32 = 4;
/// Threads of a workgroup.
pub const THREADS: u32 = TEAMS * TEAM;
/// Ranges that a workgroup bounds: 16 a thread.
pub const TILE: u32 = 16 * THREADS;
/// Classes that scores and range bounds are counted by.
pub const BUCKETS: u32 = 1024;
/// Words of a batch's state before that of its queries.
pub const HEAD: u32 = 16;
/// Words of a query's state.
pub const STATE: u32 = 8 + 2 * BUCKETS;
/// Bits of a range bound.
pub const BOUND_BITS: u32 = 16;

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
    /// 64 thousand ranges.
    pub fn of(documents: u32) -> Self {
        let shift = (documents >> 16).checked_ilog2().map_or(6, |bits| bits + 1).clamp(6, 10);
        Self { documents, shift }
    }

    /// Number of ranges, rounded up to whole tiles.
    pub fn padded(self) -> u32 {
        (self.documents >> self.shift).saturating_add(1).next_multiple_of(TILE)
    }

    /// Words of a list's table: a byte a range.
    pub fn table_words(self) -> u32 {
        self.padded() / 4
    }

    /// DF from which on a list has a table; below, its postings are looked through.
    pub fn table_df(self) -> u32 {
        (self.padded() / 8).max(256)
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
    /// The best hits.
    pub gather: Pipeline,
}

/// What the text of a kernel is put together from.
pub(super) struct Parts<'a> {
    pub(super) codec: &'a dyn Codec,
    pub(super) shader: Shader,
    pub(super) memory: Memory,
    pub(super) constants: String,
    pub(super) subgroups: bool,
    /// Words of workgroup memory that the kernels which decode declare themselves, at most.
    pub(super) workgroup_words: u32,
}

impl Parts<'_> {
    /// A kernel that decodes: the arena's buffers come first.
    pub(super) fn decoder(
        &self,
        name: &'static str,
        text: &str,
        common: &[&str],
        own: &'static [Access],
        immediates: u32,
    ) -> Kernel {
        let mut source = self.shader.text(self.memory, self.codec.block_len(), TEAMS, self.subgroups);
        source += &self.constants;
        common.iter().for_each(|text| source += text);
        source += &Shader::with_teams(&self.bound(text, Access::Read), self.subgroups);
        let workgroup_bytes = self.shader.workgroup_bytes(TEAMS, self.subgroups) + 4 * self.workgroup_words;
        let bindings = [vec![Access::Read; self.memory.segments as usize], own.to_vec()].concat();
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
        let workgroup_bytes = 4 * (THREADS + 16);
        Kernel { name, source, bindings: own.to_vec(), immediate_bytes: immediates, workgroup_bytes }
    }

    /// The text with the arena's bindings and the numbers of the others put in.
    fn bound(&self, text: &str, access: Access) -> String {
        let mut text = text.replace("//BINDINGS", &self.memory.bindings(access));
        for i in 0..16 {
            text = text.replace(&format!("@binding(NEXT+{i})"), &format!("@binding({})", self.memory.segments + i));
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
    pub fn new(gpu: &Gpu, codec: &dyn Codec, arena: &Arena, ranges: Ranges) -> Result<Self, GpuError> {
        use Access::{Read as R, ReadWrite as W};
        let shared = constants(&[
            ("DOCS", ranges.documents),
            ("SHIFT", ranges.shift),
            ("WIDTH", 1 << ranges.shift),
            ("PADDED", ranges.padded()),
            ("TILE", TILE),
            ("EACH", TILE / THREADS),
            ("BUCKETS", BUCKETS),
            ("BOUND_BUCKET", BOUND_BITS - BUCKETS.ilog2()),
            ("NO_CUT", u32::MAX),
            ("HEADER", codec.header_words() as u32),
            ("SEARCH", search_rounds(ranges.documents, codec)),
            ("RANGES_EVALUATED", 4),
            ("BLOCKS_DECODED", 5),
        ]);
        let parts = Parts {
            codec,
            shader: codec.shader(),
            memory: arena.memory(),
            constants: shared,
            subgroups: gpu.subgroups() == Some((TEAM, TEAM)),
            workgroup_words: TILE + BUCKETS + THREADS + 16,
        };
        let list = include_str!("../../../shaders/rank/list.wgsl");
        let state = include_str!("../../../shaders/rank/state.wgsl");
        let pipeline = |kernel: Kernel| gpu.pipeline(&kernel);
        let pack = parts.bound(include_str!("../../../shaders/rank/pack.wgsl"), W) + &arena.memory().store();
        let mut pack = parts.plain("pack", &pack, &[], &[], 8);
        pack.bindings = [vec![W; arena.memory().segments as usize], vec![R, R]].concat();
        Ok(Self {
            maxima: pipeline(parts.decoder(
                "maxima",
                include_str!("../../../shaders/rank/maxima.wgsl"),
                &[list],
                &[R, R, R, W],
                8,
            ))?,
            pack: pipeline(pack)?,
            bounds: pipeline(parts.decoder(
                "bounds",
                include_str!("../../../shaders/rank/bounds.wgsl"),
                &[list, state],
                &[R, R, R, W, W],
                4,
            ))?,
            cuts: pipeline(parts.plain(
                "cuts",
                include_str!("../../../shaders/rank/cuts.wgsl"),
                &[state],
                &[R, W],
                12,
            ))?,
            select: pipeline(parts.plain(
                "select",
                include_str!("../../../shaders/rank/select.wgsl"),
                &[state],
                &[R, R, W, W],
                8,
            ))?,
            evaluate: pipeline(parts.decoder(
                "evaluate",
                include_str!("../../../shaders/rank/evaluate.wgsl"),
                &[list, state],
                &[R, R, R, R, R, W, W],
                8,
            ))?,
            gather: pipeline(parts.plain(
                "gather",
                include_str!("../../../shaders/rank/gather.wgsl"),
                &[state],
                &[R, W, W, R],
                12,
            ))?,
        })
    }
}
