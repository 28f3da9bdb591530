//! Decoding lists on a GPU: a codec's shader, put together with what it needs, over resident words.

use super::Codec;
use crate::gpu::{
    Access, Assembler, Buffer, Dispatch, Download, Gpu, GpuError, Kernel, Layout as _, Memory, Piece, Pipeline, Text,
    Upload, Usage, gpu_struct, wgsl,
};

/// A codec's decoder in WGSL; `shaders/codec/block.wgsl` says what it may use and what it must define.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Its text, as `codec`, and what else that imports.
    pub assembler: Assembler,
    /// Words of workgroup memory that a team needs.
    pub scratch_words: u32,
    /// Whether it defines `docid_at`.
    pub random_access: bool,
}

/// Threads of a team.
pub const TEAM: u32 = 32;

/// Teams of a decoding workgroup, and blocks that each team decodes, with loads of all of them in flight. Of 4, 8 and
/// 16 teams with 1, 2 and 4 blocks this was fastest on an H200: 544 G docIDs/s of simdbp; 8 teams with 1 block reached
/// 449.
const TEAMS: u32 = 4;
const EACH: u32 = 2;
/// Threads of a workgroup that reads single docIDs.
const SINGLES: u32 = 128;

impl Shader {
    /// The decoder in a file that imports nothing from Rust and needs no workgroup memory.
    pub(super) fn of(text: Text) -> Self {
        Self { assembler: Assembler::new().provide("codec", [text]), scratch_words: 0, random_access: false }
    }

    /// With so many words of workgroup memory for a team.
    pub(super) fn scratch(self, words: usize) -> Self {
        Self { scratch_words: words as u32, ..self }
    }

    /// With `docid_at`.
    pub(super) fn random_access(self) -> Self {
        Self { random_access: true, ..self }
    }

    /// With more imports for the file.
    pub(super) fn with(self, assembler: &Assembler) -> Self {
        Self { assembler: self.assembler.with(assembler), ..self }
    }

    /// The parts of a decoding kernel: the codec, what it uses, and the buffers of `memory`. Any kernel may build on
    /// them. With `subgroups` a team is a subgroup, which must have 32 threads.
    pub fn assembler(&self, memory: Memory, block_len: usize, teams: u32, subgroups: bool) -> Assembler {
        let block_len = block_len as u32;
        let scratch = match self.scratch_words {
            0 => String::new(),
            words => format!("var<workgroup> scratch: array<u32, {}>;\n", words * teams),
        };
        let team = if subgroups { wgsl!("codec/team_subgroup") } else { wgsl!("codec/team_workgroup") };
        Assembler::new()
            .constants(&[
                ("BLOCK", block_len),
                ("ITEMS", block_len.div_ceil(128)),
                ("TEAMS", teams),
                ("THREADS", teams * TEAM),
                ("SCRATCH", self.scratch_words),
                ("SUMS", 1),
            ])
            .provide("scratch", [Piece::Printed(scratch)])
            .provide("memory", [memory.piece(Access::Read)])
            .provide("team", [team])
            .with(&self.assembler)
    }

    /// The kernel that decodes blocks with a team each.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn decode_kernel(&self, block_len: usize, subgroups: bool) -> Result<Kernel, GpuError> {
        let assembler = self.assembler(Memory::ONE, block_len, TEAMS, subgroups).constants(&[("EACH", EACH)]);
        assembler.rows::<BlockRow>("rows").params::<BlockParams>().kernel("decode", wgsl!("codec/decode"))
    }

    /// The same kernel without the sums at its end: it leaves the gaps less one, that between the positions i and i + 1
    /// of a block at i. `None` if the codec does not go by gaps.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn gaps_kernel(&self, block_len: usize, subgroups: bool) -> Result<Option<Kernel>, GpuError> {
        let assembler = self.assembler(Memory::ONE, block_len, TEAMS, subgroups);
        let assembler = assembler.constants(&[("EACH", EACH), ("SUMS", 0)]);
        let kernel =
            assembler.rows::<BlockRow>("rows").params::<BlockParams>().kernel("gaps", wgsl!("codec/decode"))?;
        let by_gaps = kernel.given.iter().any(|(name, used)| name == "SUMS" && *used);
        Ok(by_gaps.then_some(kernel))
    }

    /// The kernel that reads docIDs one by one, if the codec allows it.
    ///
    /// # Errors
    /// [`GpuError::Shader`]
    pub fn docid_at_kernel(&self, block_len: usize, subgroups: bool) -> Result<Option<Kernel>, GpuError> {
        let assembler = self.assembler(Memory::ONE, block_len, SINGLES / TEAM, subgroups);
        let assembler = assembler.rows::<BlockRow>("rows").params::<BlockParams>();
        self.random_access.then(|| assembler.kernel("docid_at", wgsl!("codec/docid_at"))).transpose()
    }
}

gpu_struct! {
    /// A block to decode.
    #[derive(Eq)]
    pub struct BlockRow as "Row" {
        /// First word of its list among the resident words.
        pub list: u32,
        /// Its own first word.
        pub at: u32,
        /// Its first docID.
        pub first: u32,
        /// How many docIDs it has, at least 1.
        pub len: u32,
        /// Its number in its list.
        pub index: u32,
        /// Where its docIDs go; a multiple of 4.
        pub out: u32,
    }
    padding 2
}

gpu_struct! {
    /// Parameters of the kernels.
    struct BlockParams as "Params" {
        /// How many blocks.
        blocks: u32,
    }
}

/// Words of lists, the blocks in them, and room for their docIDs, in the memory of a GPU.
#[derive(Debug)]
pub struct Resident {
    words: Buffer,
    rows: Buffer,
    docs: Buffer,
    blocks: u32,
}

/// Decodes the lists of one codec on a GPU.
#[derive(Debug)]
pub struct GpuDecoder {
    gpu: Gpu,
    decode: Pipeline,
    docid_at: Option<Pipeline>,
    gaps: Option<Pipeline>,
    upload: Upload,
    download: Download,
}

impl GpuDecoder {
    /// Compiles the kernels of `codec`.
    ///
    /// # Errors
    /// The adapter cannot do it, or was lost.
    pub fn new(gpu: &Gpu, codec: &dyn Codec) -> Result<Self, GpuError> {
        let shader = codec.shader();
        let subgroups = gpu.subgroups() == Some((TEAM, TEAM));
        let decode = gpu.pipeline(&shader.decode_kernel(codec.block_len(), subgroups)?)?;
        let docid_at = shader.docid_at_kernel(codec.block_len(), subgroups)?;
        let docid_at = docid_at.map(|kernel| gpu.pipeline(&kernel)).transpose()?;
        let (upload, download) = (Upload::default(), Download::default());
        Ok(Self { gpu: gpu.clone(), decode, docid_at, gaps: None, upload, download })
    }

    /// Compiles the kernel for [`Self::gaps`], too, if the codec goes by gaps.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_gaps(self, codec: &dyn Codec) -> Result<Self, GpuError> {
        let subgroups = self.gpu.subgroups() == Some((TEAM, TEAM));
        let kernel = codec.shader().gaps_kernel(codec.block_len(), subgroups)?;
        Ok(Self { gaps: kernel.map(|kernel| self.gpu.pipeline(&kernel)).transpose()?, ..self })
    }

    /// Brings `words` and `rows` to the device, with room for `docs` docIDs.
    ///
    /// # Errors
    /// Larger than the adapter's buffers, out of memory, or lost.
    ///
    /// # Panics
    /// If a row is empty, or its docIDs do not fit the room or start at no multiple of 4.
    pub fn resident(&mut self, words: &[u32], rows: &[BlockRow], docs: usize) -> Result<Resident, GpuError> {
        let room = (docs as u64).next_multiple_of(4);
        let fits = |row: &BlockRow| {
            row.len > 0 && row.out.is_multiple_of(4) && u64::from(row.out) + u64::from(row.len) <= room
        };
        assert!(rows.iter().all(fits), "docIDs of a block have no place");
        let buffer = |what: &str, bytes: usize| self.gpu.buffer(what, bytes as u64, Usage::Storage);
        let resident = Resident {
            words: buffer("words of lists", size_of_val(words))?,
            rows: buffer("blocks of lists", size_of_val(rows))?,
            docs: buffer("docIDs", 4 * room as usize)?,
            blocks: rows.len() as u32,
        };
        self.upload.run(&self.gpu, words, &resident.words, &|_| ())?;
        self.upload.run(&self.gpu, rows, &resident.rows, &|_| ())?;
        Ok(resident)
    }

    /// Decodes all blocks, leaves the docIDs on the device, and returns the seconds it took.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn decode(&self, resident: &Resident) -> Result<f64, GpuError> {
        self.dispatch(&self.decode, resident, resident.blocks.div_ceil(TEAMS * EACH))
    }

    /// Decodes all blocks to gaps less one, leaves them on the device, and returns the seconds it took. `None` without
    /// [`Self::with_gaps`], or if the codec does not go by gaps.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn gaps(&self, resident: &Resident) -> Result<Option<f64>, GpuError> {
        let groups = resident.blocks.div_ceil(TEAMS * EACH);
        self.gaps.as_ref().map(|pipeline| self.dispatch(pipeline, resident, groups)).transpose()
    }

    /// Reads every docID by itself, leaves them on the device, and returns the seconds it took. `None` if the codec
    /// does not allow it.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn docid_at(&self, resident: &Resident) -> Result<Option<f64>, GpuError> {
        self.docid_at.as_ref().map(|pipeline| self.dispatch(pipeline, resident, resident.blocks)).transpose()
    }

    fn dispatch(&self, pipeline: &Pipeline, resident: &Resident, groups: u32) -> Result<f64, GpuError> {
        if resident.blocks == 0 {
            return Ok(0.0);
        }
        let buffers = [(Memory::ONE.name, &resident.words), ("rows", &resident.rows), ("docs", &resident.docs)];
        let immediates = BlockParams { blocks: resident.blocks }.bytes();
        self.gpu.run("decode", &[Dispatch { pipeline, buffers: &buffers, immediates: &immediates, groups }])
    }

    /// Copies the docIDs of the last decoding to the host.
    ///
    /// # Errors
    /// Out of memory, or lost.
    pub fn docs(&mut self, resident: &Resident, out: &mut [u32]) -> Result<(), GpuError> {
        self.download.run(&self.gpu, &resident.docs, out)
    }
}
