//! `manifest.json`: the description of the index and of its files. Written last.
//!
//! Two builds of the same input with the same options give the same manifest: it holds no times, no machine, no paths
//! of the output.

use crate::error::damaged;
use crate::index::{format, impacts};
use crate::score::Norm;
use crate::text::AnalyzerSpec;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the manifest in the index directory.
pub const MANIFEST: &str = "manifest.json";

/// Value of [`Manifest::format`].
pub const FORMAT: &str = "gamut-index";

/// A manifest larger than this is not read.
const MAX_BYTES: u64 = 256 << 20;

/// The whole manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// From [`format::FIRST`] to [`format::VERSION`].
    pub version: u32,
    /// Version of the gamut that wrote the index.
    pub gamut: String,
    /// How documents were turned into terms; queries are treated the same way.
    pub analyzer: AnalyzerSpec,
    /// What decided the docIDs: `input` for the order of the input.
    pub order: String,
    /// Words of a window, see [`mod@format`].
    pub window_words: u64,
    /// Parameters that the stored impacts are made for.
    pub impacts: ImpactSpec,
    /// Sizes of the index.
    pub statistics: Statistics,
    /// Of an index that was imported: what its file says about the collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Of an index with stored texts whose input was cut within a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_cut: Option<InputCut>,
    /// Codecs, in the order of the registry.
    pub codecs: Vec<CodecSpec>,
    /// Every other file but `build-report.json`, by name.
    pub files: Vec<FileSpec>,
    /// XXH3-64 of this file with sixteen zeros here.
    pub checksum: String,
}

/// The value of [`Manifest::checksum`] while the checksum is computed.
pub(in crate::index) const NO_CHECKSUM: &str = "0000000000000000";

/// Parameters of the stored impacts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImpactSpec {
    /// BM25's k1.
    pub k1: f32,
    /// BM25's b.
    pub b: f32,
    /// The greatest share of a score of any posting, stored as impact 255; only with `impacts.bin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f32>,
}

/// What an index that was imported knows from its file. BM25 goes by these numbers, because the file may be a part of
/// the collection. Lengths of documents are what the file says, so terms of a document may occur more or less often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// Format of the file: `ciff`, or [`Self::JSON`].
    pub format: String,
    /// What the file says about itself.
    pub description: String,
    /// Frequencies are impacts that another program made, 1 to 255: the score of a document is their sum.
    pub weights: bool,
    /// What weights were multiplied by, of documents in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Sizes of the whole collection.
    #[serde(flatten)]
    pub collection: Collection,
}

impl Imported {
    /// The format of documents that are weights of terms, which are built as texts are.
    pub const JSON: &str = "json";

    /// Whether terms are numbered in the order of their bytes, not in that in which they come.
    pub fn sorts_terms(&self) -> bool {
        self.format != Self::JSON
    }
}

/// Sizes of the collection that an index is, or is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collection {
    /// Documents: the N of an idf.
    pub documents: u64,
    /// Distinct terms.
    pub terms: u64,
    /// Sum of the document lengths.
    pub tokens: u64,
    /// Mean length of a document; 0 if there is no token.
    pub mean_length: f64,
}

impl Collection {
    /// The collection that the documents of an index are.
    pub fn of(statistics: &Statistics) -> Self {
        let Statistics { documents, terms, tokens, .. } = *statistics;
        let mean_length = if tokens == 0 { 0.0 } else { tokens as f64 / documents as f64 };
        Self { documents, terms, tokens, mean_length }
    }

    /// BM25's length norm for some parameters.
    pub fn norm(&self, k1: f32, b: f32) -> Norm {
        Norm::of_mean(k1, b, self.mean_length)
    }
}

/// Where the files of the input were cut that an index is a part of. Frames of stored texts end where files do, so who
/// joins the parts has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCut {
    /// So many of the first documents of the input are from a file that begins in an earlier part.
    pub continued: u64,
    /// The file of the last document goes on in a later part.
    pub goes_on: bool,
}

/// Sizes of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents.
    pub documents: u64,
    /// Distinct terms.
    pub terms: u64,
    /// (term, document) pairs.
    pub postings: u64,
    /// Sum of the document lengths.
    pub tokens: u64,
    /// Length of the longest document.
    pub longest_document: u64,
    /// Documents with the external id of an earlier one.
    pub duplicate_ids: u64,
    /// Terms of more than one document.
    pub lists: u64,
}

/// A codec that the index holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodecSpec {
    /// Name and folder.
    pub name: String,
    /// Its parameters, as [`crate::codec::Settings`] writes them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// Id in the files.
    pub id: u8,
    /// DocIDs per block.
    pub block_len: u32,
}

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// Path from the index directory, with `/`.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// XXH3-64 of the content with seed 0, 16 hexadecimal digits.
    pub xxh3: String,
}

impl FileSpec {
    /// Fails if the file, which is at `path`, has another length.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(in crate::index) fn has_length(&self, path: &Path, bytes: u64) -> Result<()> {
        if bytes == self.bytes {
            return Ok(());
        }
        let what = format!("{bytes} bytes long, but the manifest says {}; build the index again", self.bytes);
        Err(damaged(path, bytes.min(self.bytes), what))
    }
}

/// The path of an index without links.
///
/// # Errors
/// [`Error::Invalid`] if there is none, [`Error::Io`] if it cannot be looked for.
pub(crate) fn index_at(dir: &Path) -> Result<PathBuf> {
    dir.canonicalize().map_err(|error| match Manifest::read(dir) {
        Err(told @ Error::Invalid { .. }) => told,
        _ => Error::io("open", dir)(error),
    })
}

impl Manifest {
    /// Reads and checks the manifest of the index at `dir`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none, [`Error::Io`] if it cannot be read, [`Error::Damaged`] if it is malformed
    /// or of another version.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let bytes = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = match dir.exists() {
                    true => "has no manifest.json, so it is no gamut index; `gamut index` makes one",
                    false => "is not there, and should be the directory of an index",
                };
                return Err(Error::Invalid { what: dir.display().to_string(), why: why.to_owned() });
            }
            Err(_) if dir.is_file() => {
                let why = "is a file, and an index is a directory; `gamut index` makes one".to_owned();
                return Err(Error::Invalid { what: dir.display().to_string(), why });
            }
            metadata => metadata.map_err(Error::io("open", &path))?.len(),
        };
        if bytes > MAX_BYTES {
            return Err(damaged(&path, MAX_BYTES, "the manifest is too long to be one"));
        }
        let text = std::fs::read(&path).map_err(Error::io("read", &path))?;
        Self::parse(&path, &text)
    }

    fn parse(path: &Path, text: &[u8]) -> Result<Self> {
        /// The fields of every version.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let bad = |error: serde_json::Error| {
            let offset = byte_offset(text, error.line(), error.column());
            damaged(path, offset, format!("not a manifest: {error}"))
        };
        let head: Head = serde_json::from_slice(text).map_err(bad)?;
        if head.format != FORMAT {
            return Err(damaged(path, 0, format!("format is \"{}\", not \"{FORMAT}\"", head.format)));
        }
        if !(format::FIRST..=format::VERSION).contains(&head.version) {
            let what = format!(
                "format version {}, but this gamut reads versions {} to {}; build the index again, or use the gamut that wrote it",
                head.version,
                format::FIRST,
                format::VERSION
            );
            return Err(damaged(path, 0, what));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(bad)?;
        if checksum_of(text, &manifest.checksum) != manifest.checksum {
            return Err(damaged(path, 0, "the manifest was changed after it was written; its checksum is wrong"));
        }
        let why = manifest.nonsense();
        why.map_or(Ok(manifest), |why| Err(damaged(path, 0, why)))
    }

    /// Content that no writer writes, if any.
    fn nonsense(&self) -> Option<String> {
        let s = &self.statistics;
        if !self.window_words.is_power_of_two() || !(16..=format::WINDOW_WORDS).contains(&self.window_words) {
            return Some(format!("a window of {} words", self.window_words));
        }
        if s.documents > format::MAX_DOCUMENTS || s.terms > u64::from(u32::MAX) || s.lists > s.terms {
            return Some("more documents, terms or lists than the format allows".to_owned());
        }
        if self.input_cut.is_some_and(|cut| cut.continued > s.documents) {
            return Some("more documents of a file that was cut than there are".to_owned());
        }
        if self.impacts.k1.to_bits() != crate::score::DEFAULT_K1.to_bits()
            || self.impacts.b.to_bits() != crate::score::DEFAULT_B.to_bits()
        {
            return Some("impacts of other parameters than this format version has".to_owned());
        }
        if let Some(Imported { collection, .. }) = &self.imported {
            let mean = collection.mean_length;
            if collection.documents < s.documents || !(mean.is_finite() && mean >= 0.0) {
                return Some("a collection that is smaller than the index, or without a mean length".to_owned());
            }
        }
        let quantised = self.file(impacts::IMPACTS).is_some();
        if self.impacts.maximum.is_some() != quantised
            || self.impacts.maximum.is_some_and(|m| !(m.is_finite() && m > 0.0))
        {
            return Some("a greatest share of a score that does not go with the files".to_owned());
        }
        self.codecs.is_empty().then(|| "no codec".to_owned())
    }

    /// Sizes of the collection that the index is, or is a part of.
    pub fn collection(&self) -> Collection {
        self.imported.as_ref().map_or_else(|| Collection::of(&self.statistics), |imported| imported.collection)
    }

    /// Whether frequencies are impacts that another program made.
    pub fn weights(&self) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.weights)
    }

    /// The entry of a file.
    pub fn file(&self, name: &str) -> Option<&FileSpec> {
        self.files.iter().find(|file| file.name == name)
    }

    /// The text of the file, with its checksum.
    pub fn to_json(&self) -> String {
        let blank = Self { checksum: NO_CHECKSUM.to_owned(), ..self.clone() };
        let mut text = serde_json::to_string_pretty(&blank).expect("strings and numbers always serialise");
        text.push('\n');
        let checksum = format!("{:016x}", xxh3_64(text.as_bytes()));
        if let Some(at) = text.rfind(NO_CHECKSUM) {
            text.replace_range(at..at + NO_CHECKSUM.len(), &checksum);
        }
        text
    }
}

/// The checksum of a manifest's text whose last field is `stated`.
fn checksum_of(text: &[u8], stated: &str) -> String {
    let mut text = text.to_vec();
    let at = memchr::memmem::rfind(&text, stated.as_bytes()).filter(|_| stated.len() == NO_CHECKSUM.len());
    if let Some(at) = at {
        text[at..at + NO_CHECKSUM.len()].copy_from_slice(NO_CHECKSUM.as_bytes());
    }
    format!("{:016x}", xxh3_64(&text))
}

fn byte_offset(text: &[u8], line: usize, column: usize) -> u64 {
    let before: usize = text.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)) as u64
}
