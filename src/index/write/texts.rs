//! Writes `text.zst`: texts → frames → compressed frames in order.
//!
//! Where frames begin and end follows from the texts and the input's files alone, and so does the dictionary. Threads
//! of the writer's own compress frames; few of them are on the way at a time.

use super::output::Output;
use crate::index::format::manifest::FileSpec;
use crate::index::format::texts::{
    ENTRY, FRAME, GOES_ON, LEAST_SAMPLE, LEN, MAX_FRAME, PART, SAMPLE, SAMPLE_SHARE, TEXTS, split,
};
use crate::index::format::{self, Kind};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use zstd::dict::EncoderDictionary;
use zstd::zstd_safe::{CParameter, compress_bound};

/// Higher levels compress crawled pages to 2 % less at two thirds of the speed (3), and take too much of a build.
const LEVEL: i32 = 1;

/// The dictionary is trained on pieces of at most so many bytes.
const SAMPLE_PIECE: usize = 8 << 10;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TextSizes {
    /// Bytes of all texts.
    pub text_bytes: u64,
    /// Bytes of the file.
    pub stored_bytes: u64,
    /// Time that threads took to compress, added up, and to train the dictionary.
    pub seconds: f64,
}

/// Texts and lengths of a frame, to be compressed.
struct Frame {
    bytes: Vec<u8>,
    lens: Vec<u16>,
    /// Documents that begin before it.
    before: u32,
    goes_on: bool,
}

impl Frame {
    fn new() -> Self {
        Self { bytes: Vec::with_capacity(FRAME + FRAME / 4), lens: Vec::new(), before: 0, goes_on: false }
    }

    /// Bytes that it inflates to.
    fn len(&self) -> usize {
        self.bytes.len() + LEN * self.lens.len()
    }
}

/// Takes the texts of documents in input order.
///
/// Holds up to 4 MiB of text until the dictionary is trained, which takes some 20 MiB, and then a few frames a thread;
/// 16 bytes a frame.
pub struct TextWriter {
    output: Output,
    files: Arc<Mutex<Vec<FileSpec>>>,
    threads: usize,
    open: Frame,
    /// Frames that wait for the dictionary, and bytes of their texts.
    waiting: Vec<Frame>,
    sampled: usize,
    packers: Option<Packers>,
    directory: Vec<u8>,
    dictionary_bytes: u64,
    documents: u64,
    text_bytes: u64,
    training: f64,
}

impl TextWriter {
    pub(in crate::index) fn create(dir: &Path, threads: usize, files: Arc<Mutex<Vec<FileSpec>>>) -> Result<Self> {
        let mut output = Output::create(dir, TEXTS)?;
        output.write_words(&format::header(Kind::Texts, 0))?;
        Ok(Self {
            output,
            files,
            threads: threads.max(1),
            open: Frame::new(),
            waiting: Vec::new(),
            sampled: 0,
            packers: None,
            directory: Vec::new(),
            dictionary_bytes: 0,
            documents: 0,
            text_bytes: 0,
            training: 0.0,
        })
    }

    /// The text of the next document.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, text: &str) -> Result<()> {
        let (mut part, mut rest) = split(text, PART);
        self.part(part, false)?;
        self.documents += 1;
        self.text_bytes += text.len() as u64;
        while !rest.is_empty() {
            (part, rest) = split(rest, PART);
            self.part(part, true)?;
        }
        Ok(())
    }

    fn part(&mut self, part: &str, goes_on: bool) -> Result<()> {
        let open = &mut self.open;
        if open.lens.is_empty() {
            (open.before, open.goes_on) = (self.documents as u32, goes_on);
        }
        open.bytes.extend_from_slice(part.as_bytes());
        open.lens.push(part.len() as u16);
        if open.len() >= FRAME { self.end_frame() } else { Ok(()) }
    }

    /// No frame has texts of the documents before and behind this call: a file of the input ends here.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn end_frame(&mut self) -> Result<()> {
        if self.open.lens.is_empty() {
            return Ok(());
        }
        let frame = std::mem::replace(&mut self.open, Frame::new());
        if self.packers.is_some() {
            return self.pack(frame);
        }
        self.sampled += frame.bytes.len();
        self.waiting.push(frame);
        if self.sampled >= SAMPLE { self.train() } else { Ok(()) }
    }

    /// Decides on the dictionary, and begins to compress.
    fn train(&mut self) -> Result<()> {
        let began = Instant::now();
        let dictionary = dictionary(&self.waiting, self.sampled);
        self.training = began.elapsed().as_secs_f64();
        self.output.write(&dictionary)?;
        self.dictionary_bytes = dictionary.len() as u64;
        self.packers = Some(Packers::start(&dictionary, self.threads, self.output.path())?);
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|frame| self.pack(frame))
    }

    /// Hands a frame to the threads, and writes those that came back.
    fn pack(&mut self, frame: Frame) -> Result<()> {
        let Some(packers) = &mut self.packers else { return Ok(()) };
        while let Some(packed) = packers.next(packers.room())? {
            write(&mut self.output, &mut self.directory, &packed)?;
        }
        packers.send(frame)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<TextSizes> {
        self.end_frame()?;
        if self.packers.is_none() {
            self.train()?;
        }
        let mut seconds = self.training;
        if let Some(mut packers) = self.packers.take() {
            while let Some(packed) = packers.next(0)? {
                write(&mut self.output, &mut self.directory, &packed)?;
            }
            seconds += packers.seconds();
        }
        let directory = self.output.bytes().next_multiple_of(4);
        self.output.pad_to(directory / 4)?;
        self.output.write(&self.directory)?;
        let frames = (self.directory.len() / ENTRY) as u64;
        self.output.write_wide(&[self.documents, frames, directory, self.dictionary_bytes, self.text_bytes])?;
        let spec = self.output.finish()?;
        let sizes = TextSizes { text_bytes: self.text_bytes, stored_bytes: spec.bytes, seconds };
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(spec);
        Ok(sizes)
    }
}

/// Appends a compressed frame and its entry of the directory.
fn write(output: &mut Output, directory: &mut Vec<u8>, packed: &Packed) -> Result<()> {
    directory.extend(output.bytes().to_le_bytes());
    directory.extend(packed.before.to_le_bytes());
    directory.extend(packed.inflated.to_le_bytes());
    output.write(&packed.bytes)
}

/// The dictionary for frames like these, which have so many bytes of text; empty if there are too few, or if zstd finds
/// nothing that they have in common.
fn dictionary(frames: &[Frame], bytes: usize) -> Vec<u8> {
    if bytes < LEAST_SAMPLE {
        return Vec::new();
    }
    let (mut sample, mut sizes) = (Vec::with_capacity(bytes), Vec::new());
    for frame in frames {
        sample.extend_from_slice(&frame.bytes);
        for &len in &frame.lens {
            let mut left = usize::from(len);
            while left > 0 {
                let size = left.min(SAMPLE_PIECE);
                sizes.push(size);
                left -= size;
            }
        }
    }
    zstd::dict::from_continuous(&sample, &sizes, bytes.min(SAMPLE) / SAMPLE_SHARE).unwrap_or_default()
}

/// A compressed frame.
struct Packed {
    bytes: Vec<u8>,
    before: u32,
    /// Inflated bytes, and [`GOES_ON`].
    inflated: u32,
}

/// A frame with its number.
type Numbered<T> = (u64, T);

/// Threads that compress frames.
struct Packers {
    /// `None` once they shall end.
    jobs: Option<SyncSender<Numbered<Frame>>>,
    done: Receiver<Numbered<io::Result<Packed>>>,
    threads: Vec<JoinHandle<()>>,
    /// Frames sent, and taken back.
    sent: u64,
    taken: u64,
    /// Frames that came back before one of a smaller number.
    early: BTreeMap<u64, Packed>,
    nanoseconds: Arc<AtomicU64>,
    path: PathBuf,
}

impl Packers {
    fn start(dictionary: &[u8], threads: usize, path: &Path) -> Result<Self> {
        let dictionary = (!dictionary.is_empty()).then(|| EncoderDictionary::try_copy(dictionary, LEVEL)).transpose();
        let dictionary = Arc::new(dictionary.map_err(Error::io("compress", path))?);
        let (jobs, queue) = sync_channel::<Numbered<Frame>>(threads);
        let queue = Arc::new(Mutex::new(queue));
        let (out, done) = channel();
        let nanoseconds = Arc::new(AtomicU64::new(0));
        let mut packers = Self {
            jobs: Some(jobs),
            done,
            threads: Vec::new(),
            sent: 0,
            taken: 0,
            early: BTreeMap::new(),
            nanoseconds,
            path: path.to_owned(),
        };
        for _ in 0..threads {
            let (dictionary, queue, out) = (dictionary.clone(), queue.clone(), out.clone());
            let nanoseconds = packers.nanoseconds.clone();
            let work = move || compress_all((*dictionary).as_ref(), &queue, &out, &nanoseconds);
            let thread = std::thread::Builder::new().name("texts".to_owned()).spawn(work);
            packers.threads.push(thread.map_err(Error::io("start threads for", path))?);
        }
        Ok(packers)
    }

    /// How many frames may be on the way while another one is sent.
    fn room(&self) -> u64 {
        2 * self.threads.len() as u64 + 1
    }

    fn send(&mut self, frame: Frame) -> Result<()> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((self.sent, frame)).is_ok());
        self.sent += 1;
        if sent { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// The next frame in order, if it came back, or if more than `most` are on the way, so that it is worth waiting.
    fn next(&mut self, most: u64) -> Result<Option<Packed>> {
        loop {
            if let Some(packed) = self.early.remove(&self.taken) {
                self.taken += 1;
                return Ok(Some(packed));
            }
            let wait = self.sent - self.taken > most;
            let came = if wait { self.done.recv().ok() } else { self.done.try_recv().ok() };
            match came {
                Some((number, packed)) => {
                    self.early.insert(number, packed.map_err(Error::io("compress", &self.path))?);
                }
                None if wait => return Err(Error::Interrupted),
                None => return Ok(None),
            }
        }
    }

    fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9
    }
}

impl Drop for Packers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic was told as the error of a frame.
            let _ = thread.join();
        }
    }
}

/// Says so if the thread panics: who waits for its frame would wait for good.
struct Alarm<'a>(&'a Sender<Numbered<io::Result<Packed>>>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send((u64::MAX, Err(io::Error::other("the thread panicked"))));
        }
    }
}

/// Compresses frames until there are no more.
fn compress_all(
    dictionary: Option<&EncoderDictionary<'_>>,
    queue: &Mutex<Receiver<Numbered<Frame>>>,
    out: &Sender<Numbered<io::Result<Packed>>>,
    nanoseconds: &AtomicU64,
) {
    let _alarm = Alarm(out);
    let mut zstd = compressor(dictionary);
    let mut buffer = vec![0; compress_bound(MAX_FRAME)];
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, frame)) = next else { return };
        let began = Instant::now();
        let packed = match &mut zstd {
            Ok(zstd) => compress(zstd, frame, &mut buffer),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        if out.send((number, packed)).is_err() {
            return;
        }
    }
}

fn compressor<'a>(dictionary: Option<&'a EncoderDictionary<'_>>) -> io::Result<zstd::bulk::Compressor<'a>> {
    let mut zstd = match dictionary {
        Some(dictionary) => zstd::bulk::Compressor::with_prepared_dictionary(dictionary)?,
        None => zstd::bulk::Compressor::new(LEVEL)?,
    };
    zstd.set_parameter(CParameter::ChecksumFlag(true))?;
    // There is one dictionary only.
    zstd.set_parameter(CParameter::DictIdFlag(false))?;
    Ok(zstd)
}

fn compress(zstd: &mut zstd::bulk::Compressor<'_>, mut frame: Frame, buffer: &mut [u8]) -> io::Result<Packed> {
    frame.bytes.extend(frame.lens.iter().flat_map(|len| len.to_le_bytes()));
    let n = zstd.compress_to_buffer(&frame.bytes, buffer)?;
    let inflated = frame.bytes.len() as u32 | if frame.goes_on { GOES_ON } else { 0 };
    Ok(Packed { bytes: buffer[..n].to_vec(), before: frame.before, inflated })
}
