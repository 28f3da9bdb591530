//! Threads that compress the frames of `text.zst`, and give them back in order.

use crate::index::format::texts::{FRAME, GOES_ON, LEN, MAX_FRAME};
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

/// Texts and lengths of a frame, to be compressed.
pub(super) struct Frame {
    pub bytes: Vec<u8>,
    pub lens: Vec<u16>,
    /// Documents that begin before it.
    pub before: u32,
    pub goes_on: bool,
}

/// A frame that waits, in the note of a build that can be resumed.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct SavedFrame {
    text: String,
    lens: Vec<u16>,
    before: u32,
    goes_on: bool,
}

impl Frame {
    pub fn to_saved(&self) -> SavedFrame {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        SavedFrame { text, lens: self.lens.clone(), before: self.before, goes_on: self.goes_on }
    }

    pub fn from_saved(saved: &SavedFrame) -> Self {
        let mut frame = Self { lens: saved.lens.clone(), before: saved.before, goes_on: saved.goes_on, ..Self::new() };
        frame.bytes.extend_from_slice(saved.text.as_bytes());
        frame
    }

    pub fn new() -> Self {
        Self { bytes: Vec::with_capacity(FRAME + FRAME / 4), lens: Vec::new(), before: 0, goes_on: false }
    }

    /// Bytes that it inflates to.
    pub fn len(&self) -> usize {
        self.bytes.len() + LEN * self.lens.len()
    }
}

/// A compressed frame.
pub(super) struct Packed {
    pub bytes: Vec<u8>,
    pub before: u32,
    /// Inflated bytes, and [`GOES_ON`].
    pub inflated: u32,
}

/// A frame with its number.
type Numbered<T> = (u64, T);

/// Threads that compress frames.
pub(super) struct Packers {
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
    pub fn start(dictionary: &[u8], threads: usize, path: &Path) -> Result<Self> {
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
    pub fn room(&self) -> u64 {
        2 * self.threads.len() as u64 + 1
    }

    pub fn send(&mut self, frame: Frame) -> Result<()> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((self.sent, frame)).is_ok());
        self.sent += 1;
        if sent { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// The next frame in order, if it came back, or if more than `most` are on the way, so that it is worth waiting.
    pub fn next(&mut self, most: u64) -> Result<Option<Packed>> {
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

    pub fn seconds(&self) -> f64 {
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
