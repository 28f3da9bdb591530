//! A synthetic crawl of any size: WARC/1.0 files, one gzip member per record.
//!
//! For measuring on machines without a real crawl. The pages are shaped like those of software
//! documentation: a head, navigation, paragraphs, tables and lists with many links, about five bytes
//! of HTML for each byte of visible text. Words follow Zipf's law over a made-up vocabulary, page
//! lengths a log-normal distribution, and a page repeats its own words as real ones do.
//!
//! The bytes are a function of [`SynthOptions`] less its thread count, on every machine: each page
//! has its own random stream, and logarithms and powers are computed here rather than by the
//! platform's libm. Only the compressed form depends on the version of libdeflate.

mod gzip;
mod page;
mod record;
#[cfg(test)]
mod tests;
mod words;
mod zipf;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, mpsc};

use crate::{Error, Result};
use page::PageWriter;
use words::Words;
use zipf::Zipf;

/// What to make. Every field but `threads` and `force` shapes the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SynthOptions {
    /// Pages in all, 1 to 2^32 − 1.
    pub documents: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Distinct words that there are, 1 to [`MAX_VOCABULARY`]; a short crawl does not meet them all.
    pub vocabulary: u32,
    /// Zipf exponent s: the word of rank r is drawn in proportion to r^−s. 0 (all alike) to 4.
    pub zipf: f64,
    /// Mean number of visible words of a page, titles and navigation included; 8 to 100,000.
    pub mean_length: f64,
    /// Standard deviation of the logarithm of the page length; 0 (all alike) to 3.
    pub sigma: f64,
    /// Probability that a word repeats an earlier one of its page instead of being drawn anew; 0 to 0.99.
    /// It leaves the crawl's word distribution as it is and lowers the number of distinct words a page.
    pub repeat: f64,
    /// Files to spread the pages over, in order; 1 to 100,000 and at most `documents`.
    pub files: u32,
    /// Compression level of libdeflate, 0 (stored) to 12.
    pub level: u8,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Replace files of the same names.
    pub force: bool,
}

/// The largest vocabulary, 100 million; its table takes 1.6 GB.
pub const MAX_VOCABULARY: u32 = words::MAX_WORDS;

impl Default for SynthOptions {
    /// 10,000 pages whose lengths and repetitions are those of a crawl of Debian's documentation.
    fn default() -> Self {
        Self {
            documents: 10_000,
            seed: 1,
            vocabulary: 1_000_000,
            zipf: 1.0,
            mean_length: 820.0,
            sigma: 1.5,
            repeat: 0.65,
            files: 1,
            level: 1,
            threads: 1,
            force: false,
        }
    }
}

/// How far the work has come, and at the end what came of it. All numbers are totals so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynthCounts {
    /// Pages written.
    pub documents: u64,
    /// Visible words in them.
    pub words: u64,
    /// Bytes of HTML.
    pub html_bytes: u64,
    /// Bytes of the WARC files before compression.
    pub warc_bytes: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
}

/// What [`write()`] made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynthSummary {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// What is in them.
    pub counts: SynthCounts,
}

/// Pages that one unit of work holds: about a megabyte of HTML.
const CHUNK_PAGES: u64 = 32;

/// Writes the crawl into `out_dir` (made if it is not there) as `synth-00000.warc.gz`,
/// `synth-00001.warc.gz`, …; each appears under its name only when the whole crawl is written.
///
/// `progress` is called after every chunk of some dozens of pages; [`ControlFlow::Break`] ends the
/// work with [`Error::Interrupted`] and leaves no file behind.
///
/// # Errors
/// An option out of its range, a file that already exists (without `force`), or the operating system.
pub fn write(
    options: &SynthOptions,
    out_dir: &Path,
    progress: &mut dyn FnMut(&SynthCounts) -> ControlFlow<()>,
) -> Result<SynthSummary> {
    options.check()?;
    fs::create_dir_all(out_dir).map_err(Error::io("create", out_dir))?;
    let names: Vec<PathBuf> = (0..options.files).map(|i| out_dir.join(format!("synth-{i:05}.warc.gz"))).collect();
    if !options.force
        && let Some(path) = names.iter().find(|p| p.exists())
    {
        return Err(Error::Exists { path: path.clone() });
    }
    let generator = Generator::new(options);
    let mut files = PartFiles { names, written: 0 };
    let counts = generator.run(&mut files, progress)?;
    let files = files.publish()?;
    Ok(SynthSummary { files, counts })
}

impl SynthOptions {
    /// Numbers of the pages that go into a file.
    fn pages_of(&self, file: u32) -> Range<u64> {
        let start = |file: u64| file * self.documents / u64::from(self.files);
        start(u64::from(file))..start(u64::from(file) + 1)
    }

    fn check(&self) -> Result<()> {
        fn within<T: PartialOrd + std::fmt::Display>(
            what: &str,
            value: T,
            range: std::ops::RangeInclusive<T>,
        ) -> Result<()> {
            if range.contains(&value) {
                return Ok(());
            }
            let why = format!("{value} is not between {} and {}", range.start(), range.end());
            Err(Error::Invalid { what: what.to_owned(), why })
        }
        within("documents", self.documents, 1..=u64::from(u32::MAX))?;
        within("vocabulary", self.vocabulary, 1..=MAX_VOCABULARY)?;
        within("zipf exponent", self.zipf, 0.0..=4.0)?;
        within("mean length", self.mean_length, 8.0..=100_000.0)?;
        within("sigma", self.sigma, 0.0..=3.0)?;
        within("repeat", self.repeat, 0.0..=0.99)?;
        within("files", u64::from(self.files), 1..=self.documents.min(100_000))?;
        within("level", self.level, 0..=12)?;
        within("threads", self.threads, 1..=4096)
    }
}

/// One unit of work: some pages of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chunk {
    file: u32,
    /// The file begins here: a `warcinfo` record goes first.
    first: bool,
    pages: Range<u64>,
}

/// A chunk as bytes of its file.
struct Rendered {
    bytes: Vec<u8>,
    counts: SynthCounts,
}

/// The tables all workers share.
struct Generator<'a> {
    options: &'a SynthOptions,
    words: Words,
    zipf: Zipf,
    /// For each file, how many chunks it and the files before it have.
    chunk_ends: Vec<u64>,
}

/// How far claiming and writing have come, in chunks.
#[derive(Default)]
struct Window {
    claimed: u64,
    written: u64,
    stop: bool,
}

impl<'a> Generator<'a> {
    fn new(options: &'a SynthOptions) -> Self {
        let mut chunk_ends = Vec::with_capacity(options.files as usize);
        let mut chunks = 0;
        for file in 0..options.files {
            let pages = options.pages_of(file);
            chunks += (pages.end - pages.start).div_ceil(CHUNK_PAGES);
            chunk_ends.push(chunks);
        }
        Self {
            options,
            words: Words::new(options.vocabulary),
            zipf: Zipf::new(options.vocabulary, options.zipf),
            chunk_ends,
        }
    }

    /// How many chunks there are.
    fn chunks(&self) -> u64 {
        self.chunk_ends.last().copied().unwrap_or(0)
    }

    /// Chunk number `index`, in the order in which they are written.
    fn chunk(&self, index: u64) -> Chunk {
        let file = self.chunk_ends.partition_point(|&end| end <= index);
        let first = if file == 0 { 0 } else { self.chunk_ends[file - 1] };
        let pages = self.options.pages_of(file as u32);
        let from = pages.start + (index - first) * CHUNK_PAGES;
        Chunk { file: file as u32, first: index == first, pages: from..(from + CHUNK_PAGES).min(pages.end) }
    }

    /// Workers render chunks; this thread writes them in order. No worker runs further ahead of the
    /// writer than a few chunks a thread, which bounds the memory.
    fn run(
        &self,
        files: &mut PartFiles,
        progress: &mut dyn FnMut(&SynthCounts) -> ControlFlow<()>,
    ) -> Result<SynthCounts> {
        let ahead = 4 * self.options.threads as u64;
        let window = Mutex::new(Window::default());
        let moved = Condvar::new();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            // However the writer ends, even by a panic, the workers are told to stop.
            let _stop = StopOnDrop { window: &window, moved: &moved };
            for _ in 0..self.chunks().min(self.options.threads as u64) {
                let sender = sender.clone();
                let (window, moved) = (&window, &moved);
                scope.spawn(move || {
                    let mut worker = Worker::new(self);
                    while let Some(index) = claim(window, moved, ahead, self.chunks()) {
                        if sender.send((index, worker.render(&self.chunk(index)))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            self.write_in_order(&receiver, files, progress, |written| {
                lock(&window).written = written;
                moved.notify_all();
            })
        })
    }

    fn write_in_order(
        &self,
        receiver: &mpsc::Receiver<(u64, Rendered)>,
        files: &mut PartFiles,
        progress: &mut dyn FnMut(&SynthCounts) -> ControlFlow<()>,
        advance: impl Fn(u64),
    ) -> Result<SynthCounts> {
        let mut counts = SynthCounts::default();
        let mut early = BTreeMap::new();
        let mut next = 0;
        let mut open: Option<(PathBuf, BufWriter<File>)> = None;
        for (index, rendered) in receiver {
            early.insert(index, rendered);
            while let Some(rendered) = early.remove(&next) {
                if self.chunk(next).first {
                    close(open.take())?;
                    open = Some(files.create()?);
                }
                if let Some((path, out)) = &mut open {
                    out.write_all(&rendered.bytes).map_err(Error::io("write", path))?;
                }
                counts.add(&rendered.counts);
                next += 1;
                advance(next);
                if progress(&counts).is_break() {
                    return Err(Error::Interrupted);
                }
            }
        }
        close(open)?;
        Ok(counts)
    }
}

fn close(open: Option<(PathBuf, BufWriter<File>)>) -> Result<()> {
    match open {
        Some((path, mut out)) => out.flush().map_err(Error::io("write", path)),
        None => Ok(()),
    }
}

/// The lock of the window; a worker that panicked has left it consistent.
fn lock(window: &Mutex<Window>) -> std::sync::MutexGuard<'_, Window> {
    window.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The next chunk for a worker, once the writer is near enough; `None` when there is no more to do.
fn claim(window: &Mutex<Window>, moved: &Condvar, ahead: u64, chunks: u64) -> Option<u64> {
    let mut w = lock(window);
    loop {
        if w.stop || w.claimed == chunks {
            return None;
        }
        if w.claimed < w.written + ahead {
            w.claimed += 1;
            return Some(w.claimed - 1);
        }
        w = moved.wait(w).unwrap_or_else(std::sync::PoisonError::into_inner);
    }
}

struct StopOnDrop<'a> {
    window: &'a Mutex<Window>,
    moved: &'a Condvar,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        lock(self.window).stop = true;
        self.moved.notify_all();
    }
}

impl SynthCounts {
    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.words += other.words;
        self.html_bytes += other.html_bytes;
        self.warc_bytes += other.warc_bytes;
        self.file_bytes += other.file_bytes;
    }
}

/// The output files under their provisional names; those not published are removed on drop.
struct PartFiles {
    names: Vec<PathBuf>,
    /// How many of `names` have a provisional file.
    written: usize,
}

impl PartFiles {
    fn create(&mut self) -> Result<(PathBuf, BufWriter<File>)> {
        let path = part(&self.names[self.written]);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        self.written += 1;
        Ok((path, BufWriter::with_capacity(1 << 20, file)))
    }

    fn publish(mut self) -> Result<Vec<PathBuf>> {
        for name in &self.names {
            fs::rename(part(name), name).map_err(Error::io("rename to", name))?;
        }
        self.written = 0;
        Ok(std::mem::take(&mut self.names))
    }
}

impl Drop for PartFiles {
    fn drop(&mut self) {
        for name in &self.names[..self.written] {
            // A file that cannot be removed is left under its provisional name, which no reader takes
            // for a crawl; there is nobody to tell.
            let _ = fs::remove_file(part(name));
        }
    }
}

fn part(name: &Path) -> PathBuf {
    name.with_extension("gz.part")
}

/// A thread's buffers.
struct Worker<'a> {
    generator: &'a Generator<'a>,
    page: PageWriter<'a>,
    compressor: gzip::Compressor,
    record: Vec<u8>,
}

impl<'a> Worker<'a> {
    fn new(generator: &'a Generator<'a>) -> Self {
        let Generator { options, words, zipf, .. } = generator;
        Self {
            generator,
            page: PageWriter::new(options, words, zipf),
            compressor: gzip::Compressor::new(options.level),
            record: Vec::new(),
        }
    }

    fn render(&mut self, chunk: &Chunk) -> Rendered {
        let mut bytes = Vec::with_capacity(1 << 18);
        let mut counts = SynthCounts::default();
        if chunk.first {
            record::warcinfo(self.generator.options, chunk.file, &mut self.record);
            counts.warc_bytes += self.record.len() as u64;
            self.compressor.append_member(&self.record, &mut bytes);
        }
        for document in chunk.pages.clone() {
            let page = self.page.record(document, &mut self.record);
            counts.documents += 1;
            counts.words += page.words;
            counts.html_bytes += page.html_bytes;
            counts.warc_bytes += self.record.len() as u64;
            self.compressor.append_member(&self.record, &mut bytes);
        }
        counts.file_bytes = bytes.len() as u64;
        Rendered { bytes, counts }
    }
}
