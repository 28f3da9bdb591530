//! Decoding lists on a GPU: a codec's shader, put together with what it needs, over resident words.

use super::Codec;
use crate::gpu::kernel::{constants, unroll};
use crate::gpu::{Access, Buffer, Dispatch, Download, Gpu, GpuError, Kernel, Pipeline, Upload, Usage};

/// A codec's decoder in WGSL; `shaders/codec/block.wgsl` says what it finds there and what it defines.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Its text, constants included.
    pub source: String,
    /// Words of workgroup memory that a team needs.
    pub scratch_words: u32,
    /// Whether it defines `docid_at`.
    pub random_access: bool,
}

/// Threads of a team.
pub const TEAM: u32 = 32;

/// The memory that lists lie in: one address space of words over several buffers, since a binding spans less than 2 GiB.
/// Word `at` is word `at % 2^bits` of buffer `at / 2^bits`. Nothing that is read in one go lies in two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What its buffers are called in a kernel; with a number behind it if there are several.
    pub name: &'static str,
    /// What stands before the names of the functions that read and write it.
    pub prefix: &'static str,
    /// How many buffers: a power of two is not asked for.
    pub segments: u32,
    /// Bits of an address within a buffer, 31 at most.
    pub bits: u32,
}

impl Memory {
    /// One buffer, `postings`, read by `word` and `words4`.
    pub const ONE: Self = Self { name: "postings", prefix: "", segments: 1, bits: 31 };

    /// What a kernel calls its buffers.
    fn buffer(self, segment: u32) -> String {
        if self.segments == 1 { self.name.to_owned() } else { format!("{}{segment}", self.name) }
    }

    /// Declares the buffers as bindings `first`, `first` + 1, … of group 0, for reading, or also for writing.
    pub fn bindings(self, first: u32, access: Access) -> String {
        let access = if access == Access::Read { "read" } else { "read_write" };
        let declare =
            |i| format!("@group(0) @binding({}) var<storage, {access}> {}: array<u32>;\n", first + i, self.buffer(i));
        (0..self.segments).map(declare).collect()
    }

    /// A function body that does `each` with buffer NAME and index `i`.
    fn switch(self, each: &str) -> String {
        if self.segments == 1 {
            return format!("    let i = at;\n{}", each.replace("NAME", &self.buffer(0)));
        }
        let mut text = format!("    let i = at & {}u;\n    switch at >> {}u {{\n", (1u32 << self.bits) - 1, self.bits);
        for segment in 0..self.segments {
            let case = if segment + 1 == self.segments { "default".to_owned() } else { format!("case {segment}u") };
            text += &format!("    {case}: {{\n{}    }}\n", each.replace("NAME", &self.buffer(segment)));
        }
        text + "    }\n"
    }

    /// `word` and `words4`, which never read outside a buffer. A buffer has at least four words.
    pub fn text(self) -> String {
        let prefix = self.prefix;
        let one = self.switch("        return NAME[min(i, arrayLength(&NAME) - 1u)];\n");
        let four = self.switch(
            "        let j = min(i, arrayLength(&NAME) - 4u);
        return vec4<u32>(NAME[j], NAME[j + 1u], NAME[j + 2u], NAME[j + 3u]);
",
        );
        format!(
            "fn {prefix}word(at: u32) -> u32 {{\n{one}}}\n\nfn {prefix}words4(at: u32) -> vec4<u32> {{\n{four}}}\n\n"
        )
    }

    /// `store`, which writes one word and never outside a buffer.
    pub fn store(self) -> String {
        let body = self.switch("        NAME[min(i, arrayLength(&NAME) - 1u)] = value;\n");
        format!("fn {}store(at: u32, value: u32) {{\n{body}}}\n\n", self.prefix)
    }
}
/// Teams of a workgroup that decodes, and blocks that each of them decodes, with loads of all of them in flight. Of 4, 8
/// and 16 teams with 1, 2 and 4 blocks this was fastest on an H200: 544 G docIDs/s of simdbp, where 8 teams with
/// 1 block reached 449.
const TEAMS: u32 = 4;
const EACH: u32 = 2;
/// Threads of a workgroup that reads single docIDs.
const SINGLES: u32 = 128;

impl Shader {
    /// Constants, what a codec finds, and the codec: everything but the kernel, which declares the buffers of `memory`.
    /// Any kernel may be built on it. With `subgroups` a team is a subgroup, which then must have 32 threads.
    pub fn text(&self, memory: Memory, block_len: usize, teams: u32, subgroups: bool) -> String {
        let block_len = block_len as u32;
        let scratch = match self.scratch_words {
            0 => String::new(),
            words => format!("var<workgroup> scratch: array<u32, {}>;\n", words * teams),
        };
        let team = match subgroups {
            true => include_str!("../../shaders/codec/team_subgroup.wgsl"),
            false => include_str!("../../shaders/codec/team_workgroup.wgsl"),
        };
        constants(&[
            ("BLOCK", block_len),
            ("ITEMS", block_len.div_ceil(128)),
            ("TEAMS", teams),
            ("THREADS", teams * TEAM),
            ("SCRATCH", self.scratch_words),
        ]) + &scratch
            + &memory.text()
            + include_str!("../../shaders/codec/block.wgsl")
            + team
            + &self.source
    }

    /// Bytes of workgroup memory that [`Self::text`] declares.
    pub fn workgroup_bytes(&self, teams: u32, subgroups: bool) -> u32 {
        4 * teams * (self.scratch_words + if subgroups { 0 } else { TEAM })
    }

    /// The text of a kernel's entry point with what makes `me` put in: `//TEAM_BUILTINS` stands among its arguments, which
    /// have `thread`, the local invocation index, and `//TEAM` where `me` is to be.
    pub fn with_teams(text: &str, subgroups: bool) -> String {
        let (builtins, me) = match subgroups {
            true => (
                "@builtin(subgroup_id) team: u32, @builtin(subgroup_invocation_id) lane: u32,",
                "let me = Me(lane, team, team * SCRATCH);",
            ),
            false => ("", "let me = Me(thread & 31u, thread >> 5u, (thread >> 5u) * SCRATCH);"),
        };
        text.replace("//TEAM_BUILTINS", builtins).replace("//TEAM", me)
    }

    /// The kernel that decodes blocks with a team each.
    pub fn decode_kernel(&self, block_len: usize, subgroups: bool) -> Kernel {
        let kernel = Self::with_teams(&unroll(include_str!("../../shaders/codec/decode.wgsl"), EACH), subgroups);
        Kernel {
            name: "decode",
            source: self.text(Memory::ONE, block_len, TEAMS, subgroups) + &constants(&[("EACH", EACH)]) + &kernel,
            bindings: vec![Access::Read, Access::Read, Access::ReadWrite],
            immediate_bytes: 4,
            workgroup_bytes: self.workgroup_bytes(TEAMS, subgroups),
        }
    }

    /// The kernel that reads docIDs one by one, if the code allows it.
    pub fn docid_at_kernel(&self, block_len: usize, subgroups: bool) -> Option<Kernel> {
        self.random_access.then(|| Kernel {
            name: "docid_at",
            source: self.text(Memory::ONE, block_len, SINGLES / TEAM, subgroups)
                + include_str!("../../shaders/codec/docid_at.wgsl"),
            bindings: vec![Access::Read, Access::Read, Access::ReadWrite],
            immediate_bytes: 4,
            workgroup_bytes: self.workgroup_bytes(SINGLES / TEAM, subgroups),
        })
    }
}

/// A block to decode, as the kernels read it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct BlockRow {
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
    /// Nothing.
    pub padding: [u32; 2],
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
        let decode = gpu.pipeline(&shader.decode_kernel(codec.block_len(), subgroups))?;
        let docid_at = shader.docid_at_kernel(codec.block_len(), subgroups);
        let docid_at = docid_at.map(|kernel| gpu.pipeline(&kernel)).transpose()?;
        let (upload, download) = (Upload::default(), Download::default());
        Ok(Self { gpu: gpu.clone(), decode, docid_at, upload, download })
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

    /// Reads every docID by itself, leaves them on the device, and returns the seconds it took. `None` if the code
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
        let buffers = [&resident.words, &resident.rows, &resident.docs];
        let immediates = resident.blocks.to_le_bytes();
        self.gpu.run("decode", &[Dispatch { pipeline, buffers: &buffers, immediates: &immediates, groups }])
    }

    /// Brings the docIDs that were decoded last to the host.
    ///
    /// # Errors
    /// Out of memory, or lost.
    pub fn docs(&mut self, resident: &Resident, out: &mut [u32]) -> Result<(), GpuError> {
        self.download.run(&self.gpu, &resident.docs, out)
    }
}
