//! Writes `text.zst`: texts → frames → compressed frames in order.
//!
//! Where frames begin and end follows from the texts and the input's files alone, and so does the dictionary. Threads
//! of the writer's own compress frames; few of them are on the way at a time.

use super::output::Output;
use super::packers::{Frame, Packed, Packers, SavedFrame};
use crate::index::format::manifest::FileSpec;
use crate::index::format::texts::{ENTRY, FRAME, GOES_ON, LEAST_SAMPLE, LEN, PART, SAMPLE, SAMPLE_SHARE, TEXTS, split};
use crate::index::format::{self, HEADER_WORDS, Kind};
use crate::{Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

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
    /// A copy of the directory in a file, for marks.
    log: Option<Output>,
}

/// What is known of the texts that a build has so far, to go on behind them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct TextMark {
    output: FileSpec,
    directory: FileSpec,
    /// Bytes of the dictionary, once there is one.
    dictionary: Option<u64>,
    documents: u64,
    text_bytes: u64,
    training: f64,
    open: SavedFrame,
    waiting: Vec<SavedFrame>,
}

impl TextWriter {
    pub(in crate::index) fn create(dir: &Path, threads: usize, files: Arc<Mutex<Vec<FileSpec>>>) -> Result<Self> {
        let mut output = Output::create(dir, TEXTS)?;
        output.write_words(&format::header(Kind::Texts, 0))?;
        Ok(Self::with(output, threads, files))
    }

    fn with(output: Output, threads: usize, files: Arc<Mutex<Vec<FileSpec>>>) -> Self {
        Self {
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
            log: None,
        }
    }

    /// Keeps the directory in `dir/name`, too, as far as [`Self::mark`] was called.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn logged(self, dir: &Path, name: &str) -> Result<Self> {
        Ok(Self { log: Some(Output::create(dir, name)?), ..self })
    }

    /// Hands all texts to the system, and says what a later process needs to go on behind them; nothing if the
    /// directory is not [`Self::logged`].
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn mark(&mut self) -> Result<Option<TextMark>> {
        self.come_back(0)?;
        let Some(log) = &mut self.log else { return Ok(None) };
        log.write(&self.directory[log.bytes() as usize..])?;
        Ok(Some(TextMark {
            output: self.output.mark()?,
            directory: log.mark()?,
            dictionary: self.packers.as_ref().map(|_| self.dictionary_bytes),
            documents: self.documents,
            text_bytes: self.text_bytes,
            training: self.training,
            open: self.open.to_saved(),
            waiting: self.waiting.iter().map(Frame::to_saved).collect(),
        }))
    }

    /// Its files, to sync them.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn handles(&self) -> Result<Vec<File>> {
        std::iter::once(&self.output).chain(&self.log).map(Output::handle).collect()
    }

    /// Goes on behind a mark; `logs` has the file of [`Self::logged`].
    pub(in crate::index) fn resume(
        dir: &Path,
        logs: &Path,
        threads: usize,
        files: Arc<Mutex<Vec<FileSpec>>>,
        mark: &TextMark,
    ) -> Result<Self> {
        let (output, log) = (Output::reopen(dir, &mark.output)?, Output::reopen(logs, &mark.directory)?);
        let mut writer = Self::with(output, threads, files);
        writer.directory = std::fs::read(log.path()).map_err(Error::io("read", log.path()))?;
        writer.log = Some(log);
        (writer.documents, writer.text_bytes, writer.training) = (mark.documents, mark.text_bytes, mark.training);
        writer.open = Frame::from_saved(&mark.open);
        writer.waiting = mark.waiting.iter().map(Frame::from_saved).collect();
        writer.sampled = writer.waiting.iter().map(|frame| frame.bytes.len()).sum();
        if let Some(bytes) = mark.dictionary {
            let path = writer.output.path();
            let mut dictionary = vec![0; bytes as usize];
            let read = File::open(path).and_then(|file| file.read_exact_at(&mut dictionary, 4 * HEADER_WORDS as u64));
            read.map_err(Error::io("read", path))?;
            writer.dictionary_bytes = bytes;
            writer.packers = Some(Packers::start(&dictionary, writer.threads, path)?);
        }
        Ok(writer)
    }

    /// Writes the frames that came back from the threads, and waits for all but `most`.
    fn come_back(&mut self, most: u64) -> Result<()> {
        let Some(packers) = &mut self.packers else { return Ok(()) };
        while let Some(packed) = packers.next(most)? {
            write(&mut self.output, &mut self.directory, &packed)?;
        }
        Ok(())
    }

    /// The text of the next document.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
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
    /// [`crate::Error::Io`].
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

    /// A whole frame of another file: its texts and then their lengths, as it inflates, and how many documents begin in
    /// it.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub(in crate::index) fn frame(&mut self, bytes: Vec<u8>, documents: u32, goes_on: bool) -> Result<()> {
        self.open_frame(bytes, documents, goes_on)?;
        self.end_frame()
    }

    /// As [`Self::frame`], but texts that follow belong to the frame until it is full: the file goes on.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub(in crate::index) fn open_frame(&mut self, mut bytes: Vec<u8>, documents: u32, goes_on: bool) -> Result<()> {
        let parts = documents as usize + usize::from(goes_on);
        let texts = bytes.len().saturating_sub(LEN * parts);
        let lens = bytes.split_off(texts).as_chunks::<LEN>().0.iter().map(|&len| u16::from_le_bytes(len)).collect();
        self.end_frame()?;
        self.open = Frame { bytes, lens, before: self.documents as u32, goes_on };
        self.documents += u64::from(documents);
        self.text_bytes += texts as u64;
        if self.open.len() >= FRAME { self.end_frame() } else { Ok(()) }
    }

    /// Takes the dictionary of another file, whose texts will be the first: enough to train the same dictionary.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub(in crate::index) fn adopt(&mut self, dictionary: &[u8]) -> Result<()> {
        self.begin(dictionary)
    }

    /// As [`Self::frame`], with the frame as it lies in a file of the same dictionary, and the bytes that it inflates
    /// to.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub(in crate::index) fn copy(
        &mut self,
        packed: &[u8],
        inflated: usize,
        documents: u32,
        goes_on: bool,
    ) -> Result<()> {
        self.end_frame()?;
        self.come_back(0)?;
        let (before, flag) = (self.documents as u32, if goes_on { GOES_ON } else { 0 });
        self.documents += u64::from(documents);
        self.text_bytes += inflated.saturating_sub(LEN * (documents as usize + usize::from(goes_on))) as u64;
        write_frame(&mut self.output, &mut self.directory, packed, before, inflated as u32 | flag)
    }

    /// Decides on the dictionary, and begins to compress.
    fn train(&mut self) -> Result<()> {
        let began = Instant::now();
        let dictionary = dictionary(&self.waiting, self.sampled);
        self.training = began.elapsed().as_secs_f64();
        self.begin(&dictionary)
    }

    /// Begins to compress with a dictionary.
    fn begin(&mut self, dictionary: &[u8]) -> Result<()> {
        self.output.write(dictionary)?;
        self.dictionary_bytes = dictionary.len() as u64;
        self.packers = Some(Packers::start(dictionary, self.threads, self.output.path())?);
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|frame| self.pack(frame))
    }

    /// Hands a frame to the threads, and writes those that came back.
    fn pack(&mut self, frame: Frame) -> Result<()> {
        self.come_back(self.packers.as_ref().map_or(0, Packers::room))?;
        self.packers.as_mut().map_or(Ok(()), |packers| packers.send(frame))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn finish(mut self) -> Result<TextSizes> {
        self.end_frame()?;
        if self.packers.is_none() {
            self.train()?;
        }
        self.come_back(0)?;
        let seconds = self.training + self.packers.take().map_or(0.0, |packers| packers.seconds());
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
    write_frame(output, directory, &packed.bytes, packed.before, packed.inflated)
}

fn write_frame(output: &mut Output, directory: &mut Vec<u8>, bytes: &[u8], before: u32, inflated: u32) -> Result<()> {
    directory.extend(output.bytes().to_le_bytes());
    directory.extend(before.to_le_bytes());
    directory.extend(inflated.to_le_bytes());
    output.write(bytes)
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
