//! From paths to a corpus, and from a corpus to pieces.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs::Encoding;

use super::detect::{UNKNOWN, plan_file};
use super::find::find;
use super::format::{FORMATS, Format, format_named, format_names};
use super::json_doc::MAX_FIELDS;
use super::members::{Compression, Dictionary};
use super::memory::Feed;
use super::part::{self, Part};
use super::piece::{PieceReader, Position};
use super::pieces::Pieces;
use super::solo::Solo;
use super::transcode;
use super::walk::{PROOF, Source, Walker};
use super::weights::Weights;
use super::window::RecordSink;
use crate::base::in_order::in_order;
use crate::base::means::Means;
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
    /// Documents are weights of terms in place of texts; only JSON has such. Default: they are texts.
    pub weights: Option<Weights>,
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
    /// The part of the input that is read. Default: all.
    pub part: Part,
    /// Threads that look into files to detect their formats. Default: 1.
    pub threads: usize,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            id_field: None,
            text_field: None,
            weights: None,
            title_field: None,
            max_record: 64 << 20,
            piece_bytes: 8 << 20,
            solo_bytes: usize::MAX,
            part: Part::WHOLE,
            threads: 1,
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
    /// Name of its format, `empty`, or `memory`.
    pub format: &'static str,
    /// `none`, `gzip`, `zstd` or `bzip2`.
    pub compression: &'static str,
    /// The bytes that are read, of a file that is cut between parts of the input.
    pub range: Option<Range<u64>>,
}

impl InputFile {
    /// Bytes on disk that are read.
    fn bytes_read(&self) -> u64 {
        self.range.as_ref().map_or(self.bytes, |range| range.end - range.start)
    }
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
    /// A piece for each batch of documents in memory.
    Feed,
    /// Stretches of rows.
    #[cfg(feature = "parquet")]
    Rows,
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
    /// Where reading begins, and where it ends: at the first record from there on.
    pub extent: Range<usize>,
    /// How much of a member is inflated in one go and proved.
    pub proof: usize,
    /// Of a zstd file.
    pub dictionary: Option<Dictionary>,
}

impl PlannedFile {
    pub(super) fn source<'a>(&'a self, data: &'a [u8], options: &CorpusOptions) -> Source<'a> {
        Source {
            data,
            map: None,
            compression: self.compression,
            format: self.format,
            max: options.max_record,
            solo: options.solo_bytes,
            proof: self.proof,
            dictionary: self.dictionary.as_ref(),
            inflated: None,
        }
    }

    /// Leaves what begins at `first` and behind it; before `end`, if there is one.
    pub(super) fn cut_to(&mut self, first: usize, end: Option<usize>, options: &CorpusOptions) {
        self.extent = first..end.unwrap_or(usize::MAX);
        self.info.range = Some(first as u64..end.map_or(self.info.bytes, |end| end as u64));
        let most = match self.compression {
            Compression::None => options.piece_bytes,
            // A ratio of four is usual.
            _ => options.piece_bytes.div_ceil(4),
        };
        if !matches!(self.way, Way::Ranges(_)) {
            self.way = Way::Ranges(most);
        }
    }

    /// Reads the file to its end, from an offset on that [`RecordSink::fresh`] told, or from its front.
    pub(super) fn read_from(
        &self,
        data: &[u8],
        from: usize,
        options: &CorpusOptions,
        walker: &mut Walker,
        out: &mut dyn RecordSink,
    ) {
        let source = self.source(data, options);
        match self.utf16 {
            Some(encoding) => walker.inflated += transcode::read(&source, encoding, out),
            None => {
                walker.read(&source, from, usize::MAX, true, out);
            }
        }
    }
}

/// What is shared by a corpus, its pieces and their readers.
pub(super) struct Plan {
    pub files: Vec<PlannedFile>,
    pub options: CorpusOptions,
    pub solo: Arc<Solo>,
    /// Documents in memory, of the only file.
    pub feed: Option<Feed>,
}

/// Input files and what they are.
pub struct Corpus {
    plan: Arc<Plan>,
    infos: Vec<InputFile>,
    passed_over: Vec<(PathBuf, String)>,
    whole_bytes: u64,
}

impl Corpus {
    /// Finds the input files, and what each one is, by its content.
    ///
    /// Directories are walked, links followed; names sort as people count (`f2` before `f10`), in
    /// the order of the paths given. In a directory, a file that is none of the formats is passed over, and an index of
    /// gamut is left out.
    ///
    /// # Errors
    /// [`Error::Io`] for a file or directory that is not there or cannot be read;
    /// [`Error::Invalid`] for a named file of no known format, or more than 8 text fields;
    /// [`Error::UnknownName`] for a format that there is not.
    pub fn open(paths: &[PathBuf], options: &CorpusOptions) -> Result<Self> {
        Self::open_by(paths, options, &Means::new(options.threads, 1))
    }

    /// As [`Self::open`], until `means` says that the work must end; its threads look at files.
    ///
    /// # Errors
    /// Those of [`Self::open`]; [`Error::Interrupted`].
    pub fn open_by(paths: &[PathBuf], options: &CorpusOptions, means: &Means) -> Result<Self> {
        let fields = options.text_field.as_ref().map_or(0, Vec::len);
        if fields > MAX_FIELDS {
            let why = format!("{fields} fields were given, at most {MAX_FIELDS} can be joined");
            return Err(Error::Invalid { what: "--text-field".into(), why });
        }
        let format = options.format.as_deref().map(format_named).transpose()?;
        if let Some(format) = format.filter(|format| options.weights.is_some() && !format.has_weights()) {
            let why = "has texts, and weights of terms are of JSON".to_owned();
            return Err(Error::Invalid { what: format!("format {}", format.name()), why });
        }
        let mut corpus = Self { plan: empty_plan(options), infos: Vec::new(), passed_over: Vec::new(), whole_bytes: 0 };
        let found = find(paths, &mut corpus.passed_over)?;
        let sizes: Vec<u64> = found.iter().map(|file| file.bytes).collect();
        corpus.whole_bytes = sizes.iter().sum();
        let opened = found.into_iter().zip(options.part.ranges(&sizes)).filter(|(_, range)| options.part.opens(range));
        let opened: Vec<_> = opened.collect();
        let mut files = Vec::new();
        let mut places = opened.iter();
        let mut take = |planned: Result<Result<PlannedFile, String>>| {
            let Some((file, range)) = places.next() else { return Ok(()) };
            // A file that is passed over counts once: where its first byte lies.
            let mut pass_over = |why| corpus.passed_over.extend((range.start == 0).then(|| (file.path.clone(), why)));
            match planned {
                Ok(Ok(planned)) if options.part.is_whole() => files.push(planned),
                Ok(Ok(planned)) => files.extend(part::cut(planned, range.clone(), options)?),
                Ok(Err(why)) if file.named => {
                    let why = match why.as_str() {
                        UNKNOWN => format!("{why}; it is none of: {}", format_names().join(", ")),
                        _ => why,
                    };
                    return Err(Error::Invalid { what: file.path.display().to_string(), why });
                }
                Ok(Err(why)) => pass_over(why),
                Err(Error::Io { source, .. }) if !file.named => pass_over(source.to_string()),
                Err(error) => return Err(error),
            }
            Ok(())
        };
        // It takes a few milliseconds a file, and a crawl has tens of thousands.
        let look = |i: usize| Ok(plan_file(&opened[i].0.path, opened[i].0.name.clone(), options));
        in_order(opened.len(), means, look, &mut take)?;
        corpus.infos = files.iter().map(|file| file.info.clone()).collect();
        corpus.plan = Arc::new(Plan { files, options: options.clone(), solo: Arc::default(), feed: None });
        Ok(corpus)
    }

    /// Documents that a program puts into the other end of a feed, as the only file. Nobody knows its size.
    pub fn of_feed(feed: &Feed, options: &CorpusOptions) -> Self {
        let name = "documents in memory".to_owned();
        let info =
            InputFile { path: PathBuf::from(&name), bytes: 0, format: "memory", compression: "none", range: None };
        let file = PlannedFile {
            info: info.clone(),
            name,
            format: *FORMATS.last().expect("there are formats"),
            compression: Compression::None,
            utf16: None,
            way: Way::Feed,
            extent: 0..usize::MAX,
            proof: PROOF,
            dictionary: None,
        };
        let (files, options, solo) = (vec![file], options.clone(), Arc::default());
        let plan = Arc::new(Plan { files, options, solo, feed: Some(feed.clone()) });
        Self { plan, infos: vec![info], passed_over: Vec::new(), whole_bytes: 0 }
    }

    /// The files, in input order; [`super::Piece::file`] is an index into them.
    pub fn files(&self) -> &[InputFile] {
        &self.infos
    }

    /// Files in directories that are of no known format, and why.
    pub fn passed_over(&self) -> &[(PathBuf, String)] {
        &self.passed_over
    }

    /// Bytes on disk that are read.
    pub fn total_bytes(&self) -> u64 {
        self.infos.iter().map(InputFile::bytes_read).sum()
    }

    /// Bytes on disk of all parts of the input.
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// True if a file has many gzip members, which a device can inflate ahead; see [`super::Inflating`].
    pub fn has_small_members(&self) -> bool {
        let mut files = self.plan.files.iter();
        files.any(|file| file.compression == Compression::Gzip && matches!(file.way, Way::Ranges(_)))
    }

    /// True if the first file began in an earlier part of the input.
    pub fn begins_inside(&self) -> bool {
        self.infos.first().is_some_and(|file| file.range.as_ref().is_some_and(|range| range.start > 0))
    }

    /// True if the last file goes on in a later part of the input.
    pub fn ends_inside(&self) -> bool {
        self.infos.last().is_some_and(|file| file.range.as_ref().is_some_and(|range| range.end < file.bytes))
    }

    /// The pieces, in input order. At most `readers` threads (at least 1) read ahead in files that
    /// cannot be cut; each keeps at most four pieces in memory.
    pub fn pieces(&self, readers: usize) -> Pieces {
        self.pieces_from(readers, Position::default())
    }

    /// The pieces behind a position of [`super::Handover::position`], of the same files.
    pub fn pieces_from(&self, readers: usize, position: Position) -> Pieces {
        Pieces::new(self.plan.clone(), readers, position)
    }

    /// The name of a file: of one that was named, without its folders; of one in a directory, from there on.
    pub fn name(&self, file: usize) -> &str {
        &self.plan.files[file].name
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
    Arc::new(Plan { files: Vec::new(), options: options.clone(), solo: Arc::default(), feed: None })
}
