//! Reads an index directory: files mapped, nothing loaded, nothing trusted.
//!
//! [`Index::open`] checks the manifest and every file's length and header. Later reads check their own data: damage
//! gives [`Error::Damaged`], never a panic. Checksums are for [`crate::index::change::verify`].

use super::changed::{Identity, Watches};
use super::dictionary::Dictionary;
use super::texts::TextTable;
use super::words::wide;
use crate::base::map::Map;
use crate::codec::{self, Codec};
use crate::error::damaged;
use crate::index::format::deleted::{self, DELETED};
use crate::index::format::docs::NameTable;
use crate::index::format::manifest::{Manifest, Statistics};
use crate::index::format::tables::{Place, TermInfo};
use crate::index::format::texts::TEXTS;
use crate::index::format::{HEADER_WORDS, Kind, docs, ids, tables};
use crate::index::impacts::Impacts;
use crate::index::list_tables::{ListTables, TABLES, TableFile};
use crate::index::{format, impacts};
use crate::score::{DEFAULT_B, DEFAULT_K1, Norm};
use crate::{Error, Result};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::index) use super::words::{Table, Words};

/// A built index.
pub struct Index {
    dir: PathBuf,
    manifest: Manifest,
    pub(in crate::index) dictionary: Dictionary,
    pub(in crate::index) terms: Table,
    lens: Words,
    ranks: Option<Words>,
    inputs: Option<Words>,
    pub(in crate::index) deleted: Option<Words>,
    pub(in crate::index) ids: Option<Words>,
    pub(in crate::index) names: NameTable,
    pub(in crate::index) texts: Option<TextTable>,
    pub(in crate::index) tf: Words,
    /// Whether the words of a list there begin with its thresholds.
    pub(in crate::index) thresholds: bool,
    pub(in crate::index) impacts: Option<Table>,
    tables: Option<TableFile>,
    codecs: Vec<CodecFiles>,
    /// One for each mapped file.
    pub(super) watches: Watches,
    /// Of the directory, when it was opened.
    pub(super) identity: Identity,
}

/// The files of one codec.
pub(in crate::index) struct CodecFiles {
    pub(in crate::index) codec: Arc<dyn Codec>,
    pub(in crate::index) postings: Words,
    pub(in crate::index) lists: Table,
    /// Words of `postings.bin` from the writer.
    pub(in crate::index) end: usize,
}

/// The words of lists, as they lie in the files.
#[derive(Clone, Copy, Debug)]
pub struct ListFiles<'a> {
    /// `postings.bin`.
    pub postings: &'a [u32],
    /// `lists.bin` up to the end of the skip entries.
    pub skips: &'a [u32],
    /// `tf.bin`.
    pub tf: &'a [u32],
    /// No part of a list crosses windows of so many words; the last word of a window is not used.
    pub window: u64,
}

/// One of an index's codecs.
#[derive(Clone, Copy)]
pub struct CodecRef<'a> {
    pub(in crate::index) files: &'a CodecFiles,
}

impl<'a> CodecRef<'a> {
    /// The codec.
    pub fn codec(&self) -> &'a dyn Codec {
        self.files.codec.as_ref()
    }

    /// The codec, shared.
    pub fn shared(&self) -> Arc<dyn Codec> {
        self.files.codec.clone()
    }
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be opened, [`Error::Damaged`] if one has a wrong length or header, or a version
    /// that this gamut does not read.
    pub fn open(dir: &Path) -> Result<Self> {
        // Another process may put a new index in the place of this one between two of its files.
        const TRIES: u32 = 8;
        let mut tries = 1;
        loop {
            let before = Identity::of(dir);
            let opened = Self::open_files(dir);
            if before.is_at(dir) || tries == TRIES {
                return opened.map(|index| Self { identity: before, ..index });
            }
            tries += 1;
        }
    }

    fn open_files(dir: &Path) -> Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(Error::Invalid {
                what: "this machine".to_owned(),
                why: "is big-endian; index files are little-endian memory images".to_owned(),
            });
        }
        let manifest = Manifest::read(dir)?;
        for file in &manifest.files {
            if !format::known_file(&file.name) {
                let what = format!("lists the file \"{}\", which this gamut does not know", file.name);
                return Err(damaged(&dir.join(crate::index::format::manifest::MANIFEST), 0, what));
            }
            let path = dir.join(&file.name);
            let bytes = std::fs::metadata(&path).map_err(Error::io("open", &path))?.len();
            file.has_length(&path, bytes)?;
        }
        let s = manifest.statistics;
        let path_of = |name: &str| {
            manifest.file(name).map(|file| dir.join(&file.name)).ok_or_else(|| {
                damaged(
                    &dir.join(crate::index::format::manifest::MANIFEST),
                    0,
                    format!("does not list the file \"{name}\""),
                )
            })
        };
        let watches = RefCell::new(Vec::new());
        let map = |path: &Path| -> Result<Map> {
            let map = Map::open(path).map_err(Error::io("map", path))?;
            watches.borrow_mut().push(map.watch().clone());
            Ok(map)
        };
        let words = |name: &str, kind: Kind, codec: u8| {
            let path = path_of(name)?;
            let map = map(&path)?;
            if map.len() % 4 != 0 {
                return Err(damaged(&path, map.len() as u64, "not a whole number of words"));
            }
            let words = Words { path, map };
            format::check_header(&words.path, words.get(), kind, codec)?;
            Ok(words)
        };
        let footer = |words: &Words| -> Result<([u64; 4], usize)> {
            let all = words.get();
            let at = all.len().checked_sub(8).filter(|&at| at >= HEADER_WORDS);
            let at = at.ok_or_else(|| damaged(&words.path, 0, "the file is too short"))?;
            Ok(([0, 2, 4, 6].map(|i| wide(&all[at + i..]).unwrap_or(0)), at))
        };
        let disagree = |path: &Path, offset: usize, what: &str| {
            damaged(path, 4 * offset as u64, format!("another number of {what} than in the manifest"))
        };

        let terms = words("terms.bin", Kind::Terms, 0)?;
        let ([count, lists, groups, directory], at) = footer(&terms)?;
        if (count, lists) != (s.terms, s.lists) {
            return Err(disagree(&terms.path, at, "terms or lists"));
        }
        let terms = Table::new(terms, HEADER_WORDS as u64, directory, groups, count, at)?;
        let lens = words(docs::LENGTHS, Kind::DocLengths, 0)?;
        if (lens.get().len() - HEADER_WORDS) as u64 != s.documents {
            return Err(disagree(&lens.path, lens.get().len(), "documents"));
        }
        let per_document = |name: &str, kind: Kind| -> Result<Option<Words>> {
            if manifest.file(name).is_none() {
                return Ok(None);
            }
            let words = words(name, kind, 0)?;
            if words.get().len() != lens.get().len() {
                return Err(disagree(&words.path, words.get().len(), "documents"));
            }
            Ok(Some(words))
        };
        let ranks = per_document(docs::RANKS, Kind::PageRank)?;
        let inputs = per_document(docs::INPUT, Kind::Input)?;
        let ids = match manifest.file(ids::IDS) {
            None => None,
            Some(_) => {
                let ids = words(ids::IDS, Kind::Ids, 0)?;
                let found = ids.get().len();
                if found != ids::words(s.documents as usize) {
                    return Err(disagree(&ids.path, found, "documents"));
                }
                Some(ids)
            }
        };
        let deleted = match manifest.file(DELETED) {
            None => None,
            Some(_) => {
                let words = words(DELETED, Kind::Deleted, 0)?;
                let sound = deleted::parts(words.get(), s.documents).filter(|parts| parts.tokens <= s.tokens);
                let found = words.get().len();
                sound.ok_or_else(|| disagree(&words.path, found, "deleted documents, terms or tokens"))?;
                Some(words)
            }
        };
        // Files of zstd frames, with the header of the others.
        let frames = |name: &str, kind: Kind| -> Result<(PathBuf, Map)> {
            let path = path_of(name)?;
            let map = map(&path)?;
            let head: Vec<u32> = map.chunks_exact(4).take(HEADER_WORDS).map(bytemuck::pod_read_unaligned).collect();
            format::check_header(&path, &head, kind, 0)?;
            Ok((path, map))
        };
        let (path, names) = frames(docs::NAMES, Kind::DocNames)?;
        let names = NameTable::new(path, names, s.documents)?;
        let texts = match manifest.file(TEXTS) {
            Some(_) => {
                let (path, map) = frames(TEXTS, Kind::Texts)?;
                Some(TextTable::new(path, map, s.documents)?)
            }
            None => None,
        };
        let path = path_of("terms.fst")?;
        let dictionary = Dictionary::new(map(&path)?, path, s.terms)?;
        let tf = words("tf.bin", Kind::Frequencies, 0)?;
        let thresholds = format::version_of(tf.get()) >= format::WITH_THRESHOLDS;
        // The table at the end of a file of lists, and the last number of its footer.
        let places = |file: Words| -> Result<(Table, u64)> {
            let ([rows, start, groups, last], at) = footer(&file)?;
            if rows != s.lists {
                return Err(disagree(&file.path, at, "lists"));
            }
            let directory = (at as u64).checked_sub(groups.saturating_mul(2));
            let directory = directory.ok_or_else(|| disagree(&file.path, at, "groups"))?;
            Ok((Table::new(file, start, directory, groups, rows, at)?, last))
        };
        let impacts = match manifest.file(impacts::IMPACTS) {
            Some(_) => Some(places(words(impacts::IMPACTS, Kind::Impacts, 0)?)?),
            None => None,
        };
        // Terms with one document have no impact in the file, and only they have no list.
        let listed = s.postings.checked_sub(s.terms - s.lists);
        if let Some((table, _)) = impacts.as_ref().filter(|(_, stored)| Some(*stored) != listed) {
            return Err(disagree(&table.words.path, table.words.get().len() - 2, "postings"));
        }
        let impacts = impacts.map(|(table, _)| table);
        let tables = match manifest.file(TABLES) {
            Some(_) => {
                let file = words(TABLES, Kind::Tables, 0)?;
                let (numbers, at) = footer(&file)?;
                let path = file.path.clone();
                let bad = || damaged(&path, 4 * at as u64, "the footer does not fit the file");
                Some(TableFile::new(file, numbers, at).ok_or_else(bad)?)
            }
            None => None,
        };
        let mut codecs = Vec::new();
        for spec in &manifest.codecs {
            let codec = codec::family(&spec.name)?.codec(&spec.settings)?;
            if (codec.id(), codec.block_len() as u32) != (spec.id, spec.block_len) {
                let what = format!("codec {} has another id or block length than in this gamut", spec.name);
                return Err(damaged(&dir.join(crate::index::format::manifest::MANIFEST), 0, what));
            }
            let postings = words(&format!("{}/postings.bin", spec.name), Kind::Postings, spec.id)?;
            let lists = words(&format!("{}/lists.bin", spec.name), Kind::Lists, spec.id)?;
            let (lists, end) = places(lists)?;
            if end != postings.get().len() as u64 {
                return Err(damaged(&lists.words.path, 0, "the footer says that postings.bin has another length"));
            }
            codecs.push(CodecFiles { codec, postings, lists, end: end as usize });
        }
        let watches = Watches(watches.into_inner());
        let dir = dir.to_owned();
        Ok(Self {
            dir,
            manifest,
            dictionary,
            terms,
            lens,
            ranks,
            inputs,
            deleted,
            ids,
            names,
            texts,
            tf,
            thresholds,
            impacts,
            tables,
            codecs,
            watches,
            identity: Identity::default(),
        })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Sizes of the files, deleted documents included.
    pub fn statistics(&self) -> Statistics {
        self.manifest.statistics
    }

    /// Length in tokens of every document.
    pub fn lens(&self) -> &[u32] {
        self.lens.get().get(HEADER_WORDS..).unwrap_or(&[])
    }

    /// PageRank of every document, if the index was built with its links. They add up to 1; damage may make them
    /// anything, but [`crate::index::change::verify`] sees that.
    pub fn pagerank(&self) -> Option<&[f32]> {
        self.ranks.as_ref().map(|ranks| bytemuck::cast_slice(ranks.get().get(HEADER_WORDS..).unwrap_or(&[])))
    }

    /// The place in the input of every document, if the index is in another order. Of documents with the same score the
    /// one that came earlier in the input is the better. Damage may make them anything, but
    /// [`crate::index::change::verify`] sees that.
    pub fn input_places(&self) -> Option<&[u32]> {
        self.inputs.as_ref().map(|places| places.get().get(HEADER_WORDS..).unwrap_or(&[]))
    }

    /// The quantised impacts, if the index has them.
    pub fn impacts(&self) -> Option<Impacts<'_>> {
        let maximum = self.manifest.impacts.maximum?;
        self.impacts.as_ref().map(|table| Impacts::new(self, table, maximum))
    }

    /// The tables of long lists, if the index has them.
    pub fn list_tables(&self) -> Option<ListTables<'_>> {
        self.tables.as_ref().map(|file| ListTables::new(self, file))
    }

    pub(in crate::index) fn lens_path(&self) -> &Path {
        &self.lens.path
    }

    /// BM25's length norm for some parameters, by the documents that are not deleted.
    pub fn norm(&self, k1: f32, b: f32) -> Norm {
        self.collection().norm(k1, b)
    }

    /// The norm of the stored bounds, by all documents in the files.
    pub fn default_norm(&self) -> Norm {
        self.manifest.collection().norm(DEFAULT_K1, DEFAULT_B)
    }

    /// The codecs, in the order of the manifest.
    pub fn codecs(&self) -> impl ExactSizeIterator<Item = CodecRef<'_>> {
        self.codecs.iter().map(|files| CodecRef { files })
    }

    /// The codec called `name`, or the last one if there is no name: later codecs of the registry are the more capable
    /// ones.
    ///
    /// # Errors
    /// [`Error::UnknownName`] if the index has no such codec.
    pub fn codec(&self, name: Option<&str>) -> Result<CodecRef<'_>> {
        let files = match name {
            Some(name) => self.codecs.iter().find(|files| files.codec.name() == name),
            None => self.codecs.last(),
        };
        files.map(|files| CodecRef { files }).ok_or_else(|| Error::UnknownName {
            kind: "codec of this index",
            name: name.unwrap_or_default().to_owned(),
            choices: self.codecs.iter().map(|files| files.codec.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// The termID of a term.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn lookup(&self, term: &[u8]) -> Result<Option<u32>> {
        self.dictionary.get(term)
    }

    /// Calls `visit` with every term in byte order and its termID, until it returns false.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn each_term(&self, visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        self.dictionary.each(visit)
    }

    /// As [`Self::each_term`], from the first term on that is not less than `start`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn each_term_from(&self, start: &[u8], visit: impl FnMut(&[u8], u32) -> bool) -> Result<()> {
        self.dictionary.each_from(start, visit)
    }

    /// What is known about a termID.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a termID that does not exist.
    pub fn term(&self, id: u32) -> Result<TermInfo> {
        let row = u64::from(id);
        let bad = || self.terms.bad_row(row, "term");
        let (group, row, rows) = self.terms.group(row).ok_or_else(bad)?;
        let info = tables::read_term(group, row, rows).ok_or_else(bad)?;
        let documents = self.manifest.statistics.documents;
        let inside = match info.place {
            Place::Single { doc } => u64::from(doc) < documents,
            Place::List { list, .. } => u64::from(list) < self.manifest.statistics.lists,
        };
        if inside && u64::from(info.df) <= documents { Ok(info) } else { Err(bad()) }
    }

    /// An error about a term.
    pub(in crate::index) fn bad_term(&self, id: u32, what: &str) -> Error {
        damaged(&self.terms.words.path, 0, format!("term {id} {what}"))
    }
}
