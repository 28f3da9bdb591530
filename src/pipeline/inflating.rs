//! Whether a GPU inflates gzip members ahead of the workers, and how.

use std::sync::Arc;

use super::options::BuildOptions;
use super::plan::{MemoryPlan, budget_for, inflate_share};
use super::report::{Clock, Lane};
use crate::base::kept;
use crate::corpus;
use crate::corpus::{Corpus, HeadStart, Inflating, Open, Piece, Pieces};
use crate::gpu::Gpu;
use crate::inflate::{Inflate, InflateChoice, Room};
use crate::{Error, Result};

/// The pieces of a build, from wherever they come.
pub(super) type PieceSource = Box<dyn Iterator<Item = Piece> + Send>;

/// So many pieces for each thread, but no more than a sixteenth of the input, are inflated on the CPU while a GPU sees
/// to its first batch.
const FIRST_BATCH: usize = 4;

/// As long as the GPU is opened (0.3 s) and pins host memory for its batches (a GB in 0.3 s), the CPU inflates, but so
/// much of the input at most: an eighth.
const OPENING: u64 = 8;

/// An input of less text waits for the GPU: it could be over before that is open, and whoever asks for one wants it
/// used.
const LEAST_MEANWHILE: u64 = 256 << 20;

/// Text has about so many times the bytes that lie on the disk.
const TEXT: u64 = 4;

/// Batches of less text than this are not worth it.
const LEAST_TEXT: u64 = 1 << 20;

/// What is known of the GPU at the end.
#[derive(Default)]
pub(super) struct InflateOutcome {
    /// Its name; empty, if no GPU was asked.
    pub device: String,
    /// What went wrong.
    pub warning: Option<String>,
}

/// A GPU that inflates, or none.
#[derive(Default)]
pub(super) struct Inflater {
    device: corpus::Device,
}

/// Whether a build is to set memory aside for a GPU that inflates.
pub(super) fn wanted(options: &BuildOptions) -> bool {
    let share = inflate_share(options.means.memory, options.means.threads);
    options.inflate.wants_gpu(&options.device, share, options.means.threads)
}

/// The plan that the input is opened with: with memory for a GPU, if one is `wanted` and there is enough. If a GPU was
/// asked for and there is not, also the error for an input that has something to inflate; others need no GPU.
///
/// # Errors
/// No plan is possible.
pub(super) fn first_plan(
    wanted: bool,
    choice: InflateChoice,
    divide: impl Fn(bool) -> Result<MemoryPlan>,
) -> Result<(MemoryPlan, Option<Error>)> {
    match divide(wanted) {
        Ok(plan) => Ok((plan, None)),
        Err(error) if !wanted => Err(error),
        Err(error) => match (divide(false), choice) {
            (Ok(plan), InflateChoice::Gpu) => Ok((plan, Some(error))),
            // the least budget with a GPU: without one, it may be less
            (Err(_), InflateChoice::Gpu) => Err(error),
            (alone, _) => Ok((alone?, None)),
        },
    }
}

/// How the GPU that inflates is opened, in the memory that the first plan has for it. `None`: the CPU does, and the
/// plan needs no memory for a GPU. A GPU that cannot be opened, refuses the kernel, or for which too little memory is
/// left, ends a build that asked for it.
///
/// # Errors
/// `too_little`, or with what a GPU is refused for that reason.
pub(super) fn opening(
    options: &BuildOptions,
    corpus: &Corpus,
    plan: &MemoryPlan,
    too_little: Option<Error>,
) -> Result<Option<Open>> {
    let is_asked = options.inflate == InflateChoice::Gpu;
    let progress = options.means.progress.clone();
    let note = move |line: String| progress.note(&format!("note: {line}"));
    if !corpus.has_small_members() {
        if is_asked {
            note("--inflate gpu: no file is large and of many gzip members, so the CPU inflates".into());
        }
        return Ok(None);
    }
    if let Some(too_little) = too_little {
        // only a device that is open tells whose memory it takes
        let shares = open(options)?.report().kind.shares_memory();
        return Err(with_least(too_little, shares));
    }
    if plan.inflate_bytes == 0 {
        return Ok(None);
    }
    let (options, plan, text) = (options.clone(), *plan, corpus.total_bytes() * TEXT);
    Ok(Some(Box::new(move || match engine(&options, &plan, text) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if is_asked => Err(error),
        Err(error) => {
            note(format!("the CPU inflates: {error}"));
            Ok(None)
        }
    })))
}

fn open(options: &BuildOptions) -> Result<Gpu> {
    Ok(Gpu::open_with_cache(&options.device, kept::folder().as_deref())?)
}

/// The error, with no less than what a GPU needs.
fn with_least(error: Error, shares: bool) -> Error {
    let least = budget_for(Room::host_bytes(LEAST_TEXT, shares));
    match error {
        Error::Memory { given, needed, what } => Error::Memory { given, needed: needed.max(least), what },
        error => error,
    }
}

/// With the buffers that so much text needs.
fn engine(options: &BuildOptions, plan: &MemoryPlan, text_of_all: u64) -> Result<Inflate> {
    let gpu = open(options)?;
    let shares = gpu.report().kind.shares_memory();
    let text = Room::text_within(plan.inflate_bytes, shares);
    if text < LEAST_TEXT {
        let error = Error::Memory { given: plan.budget, needed: 0, what: "a build with --inflate gpu" };
        return Err(with_least(error, shares));
    }
    let room = Room::for_text(text, &gpu);
    let mut engine = Inflate::new(gpu, room, true)?;
    engine.make_ready(text_of_all.div_ceil(room.text as u64) as usize)?;
    Ok(engine)
}

impl Inflater {
    /// Puts the GPU between pieces and workers.
    ///
    /// # Errors
    /// The system gives no threads.
    pub(super) fn between(
        options: &BuildOptions,
        corpus: &Corpus,
        plan: &MemoryPlan,
        open: Option<Open>,
        pieces: Pieces,
        clock: &Arc<Clock>,
    ) -> Result<(PieceSource, Self)> {
        let Some(open) = open else { return Ok((Box::new(pieces), Self::default())) };
        let clock = clock.clone();
        let (threads, piece_bytes) = (plan.threads, options.corpus.piece_bytes.min(plan.piece_bytes));
        let text = corpus.total_bytes() * TEXT;
        let all = text / piece_bytes.max(1) as u64;
        let head_start = HeadStart {
            opening: if text < LEAST_MEANWHILE { 0 } else { (all / OPENING) as usize },
            first_batch: (FIRST_BATCH * threads).min((all / 16) as usize),
        };
        let busy = Box::new(move |from, to| clock.record_span(Lane::Inflate, from, to));
        let inflating = Inflating::start(pieces, open, threads, head_start, busy)
            .map_err(Error::io("start threads for", &options.output))?;
        let device = inflating.device();
        Ok((Box::new(inflating), Self { device }))
    }

    /// Whether the build saw all its pieces. To be asked once, when they are parsed.
    ///
    /// # Errors
    /// The GPU that was asked for cannot be opened, or refuses the kernel, or too little memory is left for it.
    pub(super) fn sound(&self) -> Result<()> {
        self.device.sound()
    }

    /// What became of it.
    pub(super) fn outcome(&self) -> InflateOutcome {
        let device = self.device.name();
        let warning = self
            .device
            .problem()
            .map(|error| format!("inflating on {device} failed ({error}); the rest was inflated on the CPU"));
        InflateOutcome { device, warning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::means::Means;
    use crate::gpu::{Choice, testing};

    fn too_little(needed: u64) -> Error {
        Error::Memory { given: 1, needed, what: "a test" }
    }

    /// The first plan: whether it has memory for a GPU, and what was needed for that; or what is needed at all.
    fn planned(wanted: bool, choice: InflateChoice, beside: bool, alone: bool) -> Result<(bool, Option<u64>), u64> {
        let needed = |error: Error| if let Error::Memory { needed, .. } = error { needed } else { panic!("{error}") };
        let plan = MemoryPlan::new(1 << 30, 2, 1, 0, false).expect("enough");
        let divide = |with: bool| match with {
            true if beside => Ok(MemoryPlan { inflate_bytes: 1, ..plan }),
            false if alone => Ok(plan),
            _ => Err(too_little(if with { 4 } else { 3 })),
        };
        let (plan, why) = first_plan(wanted, choice, divide).map_err(needed)?;
        Ok((plan.inflate_bytes > 0, why.map(needed)))
    }

    #[test]
    fn test_too_little_memory_for_a_gpu_ends_no_build_that_needs_none() {
        use InflateChoice::{Auto, Cpu, Gpu};
        assert_eq!(planned(true, Gpu, true, true), Ok((true, None)));
        assert_eq!(planned(true, Auto, true, true), Ok((true, None)));
        assert_eq!(planned(true, Auto, false, true), Ok((false, None)));
        assert_eq!(planned(true, Gpu, false, true), Ok((false, Some(4))));
        assert_eq!(planned(true, Auto, false, false), Err(3));
        assert_eq!(planned(true, Gpu, false, false), Err(4));
        assert_eq!((planned(false, Cpu, true, true), planned(false, Auto, true, false)), (Ok((false, None)), Err(3)));
    }

    #[test]
    fn test_auto_does_without_a_device() {
        let dir = tempfile::tempdir().unwrap();
        let member = |i: u32| {
            use std::io::Write as _;
            let page = format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 4\r\n\r\n{i:04}\r\n\r\n");
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(page.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let path = dir.path().join("crawl.warc.gz");
        std::fs::write(&path, (0..200).flat_map(member).collect::<Vec<u8>>()).unwrap();
        let mut options = BuildOptions::new(vec![path], dir.path().join("out"));
        (options.corpus.piece_bytes, options.means) = (4096, Means::new(1, 1 << 30));
        let corpus = Corpus::open(&options.inputs, &options.corpus).unwrap();
        assert!(corpus.has_small_members());
        let plan = MemoryPlan::beside_inflating(1 << 30, 1, 1, 0, false).unwrap();
        let little = MemoryPlan { inflate_bytes: 1000, ..plan };
        let none = MemoryPlan { inflate_bytes: 0, ..plan };
        let first = testing::gpu().map(|gpu| Choice::Named(gpu.report().index.to_string()));
        for (device, plan) in [(Some(Choice::Named("no such card".into())), &plan), (first, &little)] {
            let Some(device) = device else { continue };
            options.device = device;
            options.inflate = InflateChoice::Auto;
            let open = opening(&options, &corpus, plan, None).unwrap().expect("a way to open it");
            assert!(open().unwrap().is_none());
            options.inflate = InflateChoice::Gpu;
            let open = opening(&options, &corpus, plan, None).unwrap().expect("a way to open it");
            assert!(open().is_err());
            assert!(opening(&options, &corpus, &none, Some(too_little(1))).is_err());
            assert!(opening(&options, &corpus, &none, None).unwrap().is_none());
        }
    }
}
