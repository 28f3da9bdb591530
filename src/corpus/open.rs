//! From paths to files of known formats, and from files to pieces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;
use walkdir::WalkDir;

use super::format::{Cut, FORMATS, Format, Head, format_named, format_names};
use super::json_doc::MAX_FIELDS;
use super::members::{Compression, Dictionary, Inflater, Whole};
use super::piece::{PieceReader, map};
use super::pieces::Pieces;
use super::sniff::{Look, look};
use super::solo::Solo;
use super::transcode;
use super::walk::{PROOF, Source, Walker};
use super::window::RecordSink;
use crate::{Error, Result};

/// How input is to be read.
#[derive(Clone, Debug)]
pub struct CorpusOptions {
    /// The format of all files, by name: none is guessed. Default: each file's own, by its content.
    pub format: Option<String>,
    /// JSON field with the id; a dotted name goes into nested objects. Default: the first there is
    /// of `id`, `_id`, `docid`, `docno`, `pid`.
    pub id_field: Option<String>,
    /// JSON fields with the text; several are joined by a line feed. Default: the first there is of
    /// `contents`, `text`, `body`, `passage`, `segment`.
    pub text_field: Option<Vec<String>>,
    /// JSON field with the title. Default: `title`.
    pub title_field: Option<String>,
    /// The longest record that is read, in bytes, before and after its codings are undone.
    /// Default: 64 MiB.
    pub max_record: usize,
    /// Size of a piece in inflated bytes. The documents do not depend on it. Default: 8 MiB.
    pub piece_bytes: usize,
    /// Records that need a buffer larger than this are read one at a time, to save memory. The documents
    /// do not depend on it. Default: no limit.
    pub solo_bytes: usize,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            id_field: None,
            text_field: None,
            title_field: None,
            max_record: 64 << 20,
            piece_bytes: 8 << 20,
            solo_bytes: usize::MAX,
        }
    }
}

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InputFile {
    /// As it was found.
    pub path: PathBuf,
    /// Size on disk.
    pub bytes: u64,
    /// Name of its format, or `empty`.
    pub format: &'static str,
    /// `none`, `gzip`, `zstd` or `bzip2`.
    pub compression: &'static str,
}

/// How a file becomes pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It has no content.
    Empty,
    /// One piece.
    Whole,
    /// Ranges of so many bytes on disk.
    Ranges(usize),
    /// By a thread that reads ahead.
    Ahead,
}

pub(super) struct PlannedFile {
    pub info: InputFile,
    /// Id of a whole-file document.
    pub name: String,
    pub format: &'static dyn Format,
    pub compression: Compression,
    /// The file is UTF-16 and is to be read as UTF-8.
    pub utf16: Option<&'static Encoding>,
    pub way: Way,
    /// How much of a member is inflated in one go and proved.
    pub proof: usize,
    /// Of a zstd file.
    pub dictionary: Option<Dictionary>,
}

impl PlannedFile {
    pub(super) fn source<'a>(&'a self, data: &'a [u8], options: &CorpusOptions) -> Source<'a> {
        Source {
            data,
            compression: self.compression,
            format: self.format,
            max: options.max_record,
            solo: options.solo_bytes,
            proof: self.proof,
            dictionary: self.dictionary.as_ref(),
        }
    }

    /// Reads the whole file.
    pub(super) fn read_all(&self, data: &[u8], options: &CorpusOptions, walker: &mut Walker, out: &mut dyn RecordSink) {
        let source = self.source(data, options);
        match self.utf16 {
            Some(encoding) => walker.inflated += transcode::read(&source, encoding, out),
            None => {
                walker.read(&source, 0, usize::MAX, true, out);
            }
        }
    }
}

/// What is shared by a corpus, its pieces and their readers.
pub(super) struct Plan {
    pub files: Vec<PlannedFile>,
    pub options: CorpusOptions,
    pub solo: Arc<Solo>,
}

/// Input files and what they are.
pub struct Corpus {
    plan: Arc<Plan>,
    infos: Vec<InputFile>,
    passed_over: Vec<(PathBuf, String)>,
}

/// Larger files that have to be read from their front are read ahead by a thread; smaller ones are
/// one piece. In pieces of [`CorpusOptions::piece_bytes`].
fn ahead_from(compression: Compression) -> u64 {
    match compression {
        Compression::None => 2,
        Compression::Gzip | Compression::Zstd => 1,
        // Slow to inflate.
        Compression::Bzip2 => 0,
    }
}

impl Corpus {
    /// Finds the input files, and what each one is, by its content.
    ///
    /// Directories are walked, links followed; names sort as people count (`f2` before `f10`), in
    /// the order of the paths given. In a directory, a file that is none of the formats is passed over.
    ///
    /// # Errors
    /// [`Error::Io`] for a file or directory that is not there or cannot be read;
    /// [`Error::Invalid`] for a named file of no known format, or more than 8 text fields;
    /// [`Error::UnknownName`] for a format that there is not.
    pub fn open(paths: &[PathBuf], options: &CorpusOptions) -> Result<Self> {
        let fields = options.text_field.as_ref().map_or(0, Vec::len);
        if fields > MAX_FIELDS {
            let why = format!("{fields} fields were given, at most {MAX_FIELDS} can be joined");
            return Err(Error::Invalid { what: "--text-field".into(), why });
        }
        options.format.as_deref().map(format_named).transpose()?;
        let mut corpus = Self { plan: empty_plan(options), infos: Vec::new(), passed_over: Vec::new() };
        let mut files = Vec::new();
        for path in paths {
            let meta = std::fs::metadata(path).map_err(Error::io("open", path))?;
            if !meta.is_dir() && !meta.is_file() {
                let why = "is neither a file nor a directory; write a pipe's content to a file first".to_owned();
                return Err(Error::Invalid { what: path.display().to_string(), why });
            }
            if !meta.is_dir() {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                match plan_file(path, name, options)? {
                    Ok(file) => files.push(file),
                    Err(why) => {
                        let why = match why.as_str() {
                            UNKNOWN => format!("{why}; it is none of: {}", format_names().join(", ")),
                            _ => why,
                        };
                        return Err(Error::Invalid { what: path.display().to_string(), why });
                    }
                }
                continue;
            }
            for (below, name) in walk(path, &mut corpus.passed_over)? {
                match plan_file(&below, name, options) {
                    Ok(Ok(file)) => files.push(file),
                    Ok(Err(why)) => corpus.passed_over.push((below, why)),
                    Err(Error::Io { source, .. }) => corpus.passed_over.push((below, source.to_string())),
                    Err(error) => return Err(error),
                }
            }
        }
        corpus.infos = files.iter().map(|file| file.info.clone()).collect();
        corpus.plan = Arc::new(Plan { files, options: options.clone(), solo: Arc::default() });
        Ok(corpus)
    }

    /// The files, in input order; [`super::Piece::file`] is an index into them.
    pub fn files(&self) -> &[InputFile] {
        &self.infos
    }

    /// Files in directories that are of no known format, and why.
    pub fn passed_over(&self) -> &[(PathBuf, String)] {
        &self.passed_over
    }

    /// Bytes of all files on disk.
    pub fn total_bytes(&self) -> u64 {
        self.infos.iter().map(|file| file.bytes).sum()
    }

    /// The pieces, in input order. At most `readers` threads (at least 1) read ahead in files that
    /// cannot be cut; each keeps at most four pieces in memory.
    pub fn pieces(&self, readers: usize) -> Pieces {
        Pieces::new(self.plan.clone(), readers)
    }

    /// Cuts all files into ranges of so many bytes, and proves no more than `proof` inflated bytes of a member.
    #[cfg(test)]
    pub(super) fn cut_into(mut self, range: usize, proof: usize) -> Self {
        let plan = Arc::get_mut(&mut self.plan).expect("no pieces yet");
        for file in &mut plan.files {
            file.way = Way::Ranges(range);
            file.proof = proof;
        }
        self
    }

    /// A reader for the pieces of this corpus; one per worker.
    pub fn reader(&self) -> PieceReader {
        PieceReader::new(self.plan.clone())
    }
}

fn empty_plan(options: &CorpusOptions) -> Arc<Plan> {
    Arc::new(Plan { files: Vec::new(), options: options.clone(), solo: Arc::default() })
}

/// The files below a directory with their names relative to it, sorted.
///
/// Unreadable entries below the directory are passed over; the directory itself must be readable.
fn walk(root: &Path, passed_over: &mut Vec<(PathBuf, String)>) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
                let name = relative.to_string_lossy().into_owned();
                found.push((entry.into_path(), name));
            }
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => passed_over.push((entry.into_path(), "neither a file nor a directory".to_owned())),
            Err(error) => {
                let (path, depth) = (error.path().unwrap_or(root).to_path_buf(), error.depth());
                let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop of links"));
                if depth == 0 {
                    return Err(Error::Io { action: "read", path, source });
                }
                passed_over.push((path, source.to_string()));
            }
        }
    }
    found.sort_by(|a, b| natord::compare(&a.1, &b.1).then_with(|| a.0.cmp(&b.0)));
    Ok(found)
}

/// The usual reason why a file has no format.
const UNKNOWN: &str = "unknown content";

/// Detects a file's format; the inner error says why it has none.
fn plan_file(path: &Path, name: String, options: &CorpusOptions) -> Result<Result<PlannedFile, String>> {
    let look = look(path)?;
    let head = Head { bytes: &look.head, complete: look.complete };
    let is_empty = look.complete && head.bytes.is_empty();
    let forced = options.format.as_deref().map(format_named).transpose()?;
    let mut compression = look.compression;
    let mut found = match forced {
        Some(format) => format.sniff(&head).then_some(format),
        None => FORMATS.iter().copied().find(|format| format.sniff(&head)),
    };
    // Mere text may be junk before something better.
    let text = *FORMATS.last().expect("there are formats");
    if compression == Compression::None && found.is_none_or(|format| format.name() == text.name()) {
        let formats = forced.as_ref().map_or(FORMATS, std::slice::from_ref);
        if let Some((coding, format)) = look.behind_junk(formats) {
            (compression, found) = (coding, Some(format));
        }
    }
    let (format, label) = match forced.or(found) {
        _ if is_empty => (text, "empty"),
        Some(format) if !head.bytes.is_empty() => (format, format.name()),
        _ if head.bytes.is_empty() => {
            return Ok(Err(format!("{} data that breaks off before anything can be read", compression.name())));
        }
        _ => return Ok(Err(UNKNOWN.into())),
    };
    let Look { bytes, utf16, dictionary, .. } = look;
    let utf16 = utf16.filter(|_| format.cut() != Cut::File);
    let info = InputFile { path: path.to_path_buf(), bytes, format: label, compression: compression.name() };
    let mut file = PlannedFile { info, name, format, compression, utf16, way: Way::Empty, proof: PROOF, dictionary };
    if !is_empty {
        file.way = way(&file, options)?;
    }
    Ok(Ok(file))
}

/// A member that inflates to no more than this is small.
const SMALL: usize = 1 << 20;

/// Decides how to cut a file. The documents do not depend on it.
fn way(file: &PlannedFile, options: &CorpusOptions) -> Result<Way> {
    let piece = options.piece_bytes as u64;
    let size = file.info.bytes;
    let cuts = match file.format.cut() {
        Cut::File => return Ok(Way::Whole),
        Cut::Records => file.utf16.is_none(),
        Cut::Lines => file.utf16.is_none() && file.compression == Compression::None,
        Cut::Sequential => false,
    };
    let front = if size > piece * ahead_from(file.compression) { Way::Ahead } else { Way::Whole };
    if !cuts {
        return Ok(front);
    }
    if file.compression == Compression::None {
        return Ok(if size <= piece { Way::Whole } else { Way::Ranges(options.piece_bytes) });
    }
    // If the first members are small, there are many.
    let map = map(&file.info.path).map_err(Error::io("map", &file.info.path))?;
    let (mut consumed, mut produced) = (0, 0);
    let mut out = Vec::new();
    let mut inflater = Inflater::new();
    while produced < options.piece_bytes.min(SMALL) {
        match inflater.member(
            file.compression,
            file.dictionary.as_ref(),
            &map[consumed.min(map.len())..],
            &mut out,
            0,
            options.piece_bytes.min(SMALL),
        ) {
            Whole::Done { consumed: c, produced: p } => {
                consumed += c;
                produced += p;
            }
            // A large record among many, or one member that is the whole file: if a record begins in
            // the middle of the file, it is not one member.
            Whole::TooBig => {
                let middle = map.len() / 2;
                let source = file.source(&map, options);
                if !Walker::new().begins_between(&source, middle, middle + 2 * options.piece_bytes) {
                    return Ok(front);
                }
                break;
            }
            Whole::Bad => break,
        }
    }
    // A ratio of four is usual, and is assumed if the first member is the large one.
    let ratio = if produced < 1 << 16 { 4.0 } else { (produced as f64 / consumed as f64).clamp(1.0, 64.0) };
    let range = (options.piece_bytes as f64 / ratio) as usize;
    Ok(if size as usize <= range { Way::Whole } else { Way::Ranges(range.max(1)) })
}
