//! The files that grow list by list, written front to back.

use super::encode::EncodedCodec;
use super::format::{self, Kind};
use super::manifest::FileSpec;
use super::output::Output;
use super::tables::{GROUP, TermRow, pack_lists, pack_terms};
use crate::codec::Codec;
use crate::{Error, Result};
use std::path::Path;

/// Appends the lists of one vector to a windowed file, in as few writes as the windows allow.
pub(super) struct Appender<'a> {
    output: &'a mut Output,
    window: u64,
    /// Where the next list goes, in words of the file.
    at: u64,
    /// Words of the vector that are written, and that have a place.
    written: usize,
    placed: usize,
}

impl<'a> Appender<'a> {
    pub(super) fn new(output: &'a mut Output, window: u64) -> Self {
        let at = output.words();
        Self { output, window, at, written: 0, placed: 0 }
    }

    /// Gives the next `len` words of `words` a place and says where.
    pub(super) fn list(&mut self, words: &[u32], len: u64, what: &'static str) -> Result<u64> {
        let place = format::place(self.at, len, self.window, what)?;
        if place != self.at {
            self.flush(words)?;
            self.output.pad_to(place)?;
        }
        self.at = place + len;
        self.placed += len as usize;
        Ok(place)
    }

    /// Writes the words that have a place.
    pub(super) fn flush(&mut self, words: &[u32]) -> Result<()> {
        self.output.write_words(&words[self.written..self.placed])?;
        self.written = self.placed;
        Ok(())
    }
}

/// `terms.bin`.
pub(super) struct TermTableWriter {
    output: Output,
    directory: Output,
    rows: Vec<TermRow>,
    packed: Vec<u32>,
    /// Terms so far.
    pub(super) count: u64,
    /// Terms of more than one document so far.
    pub(super) lists: u64,
    lists_before: u64,
}

impl TermTableWriter {
    pub(super) fn create(dir: &Path) -> Result<Self> {
        let mut output = Output::create(dir, "terms.bin")?;
        output.write_words(&format::header(Kind::Terms, 0))?;
        let directory = Output::create(dir, "terms.directory")?;
        Ok(Self {
            output,
            directory,
            rows: Vec::with_capacity(GROUP),
            packed: Vec::new(),
            count: 0,
            lists: 0,
            lists_before: 0,
        })
    }

    pub(super) fn push(&mut self, row: TermRow) -> Result<()> {
        if self.count >= u64::from(u32::MAX) {
            return Err(Error::Limit {
                what: "terms",
                value: self.count + 1,
                limit: u64::from(u32::MAX),
                hint: "split the collection into several indexes",
            });
        }
        self.count += 1;
        self.lists += u64::from(row.df > 1);
        self.rows.push(row);
        if self.rows.len() == GROUP { self.close_group() } else { Ok(()) }
    }

    fn close_group(&mut self) -> Result<()> {
        self.directory.write_wide(&[self.output.words() - format::HEADER_WORDS as u64])?;
        self.packed.clear();
        pack_terms(&self.rows, self.lists_before as u32, &mut self.packed);
        self.output.write_words(&self.packed)?;
        self.rows.clear();
        self.lists_before = self.lists;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<FileSpec> {
        if !self.rows.is_empty() {
            self.close_group()?;
        }
        let at = self.output.words();
        self.output.take_over(self.directory)?;
        let groups = self.count.div_ceil(GROUP as u64);
        self.output.write_wide(&[self.count, self.lists, groups, at])?;
        self.output.finish()
    }
}

/// The two files of a codec.
pub(super) struct CodecWriter {
    postings: Output,
    lists: Output,
    groups: Output,
    directory: Output,
    rows: Vec<(u64, u64)>,
    packed: Vec<u32>,
    count: u64,
}

impl CodecWriter {
    pub(super) fn create(dir: &Path, codec: &dyn Codec) -> Result<Self> {
        let dir = dir.join(codec.name());
        std::fs::create_dir(&dir).map_err(Error::io("create", &dir))?;
        let parent = dir.parent().unwrap_or(&dir);
        let file = |name: &str| Output::create(parent, &format!("{}/{name}", codec.name()));
        let mut postings = file("postings.bin")?;
        postings.write_words(&format::header(Kind::Postings, codec.id()))?;
        let mut lists = file("lists.bin")?;
        lists.write_words(&format::header(Kind::Lists, codec.id()))?;
        Ok(Self {
            postings,
            lists,
            groups: file("lists.groups")?,
            directory: file("lists.directory")?,
            rows: Vec::with_capacity(GROUP),
            packed: Vec::new(),
            count: 0,
        })
    }

    pub(super) fn append(&mut self, encoded: &EncodedCodec, window: u64) -> Result<()> {
        let skips: &[u32] = bytemuck::cast_slice(&encoded.skips);
        let mut words = Appender::new(&mut self.postings, window);
        let mut entries = Appender::new(&mut self.lists, window);
        for (&len, &skip_len) in encoded.lens.iter().zip(&encoded.skip_lens) {
            let at = words.list(&encoded.words, u64::from(len), "words of a list of docIDs")?;
            let skip_at = entries.list(skips, 3 * u64::from(skip_len), "words of skip entries of a list")?;
            self.rows.push((at, skip_at));
            self.count += 1;
            if self.rows.len() == GROUP {
                close_group(&mut self.rows, &mut self.packed, &mut self.groups, &mut self.directory)?;
            }
        }
        words.flush(&encoded.words)?;
        entries.flush(skips)
    }

    pub(super) fn finish(mut self) -> Result<[FileSpec; 2]> {
        if !self.rows.is_empty() {
            close_group(&mut self.rows, &mut self.packed, &mut self.groups, &mut self.directory)?;
        }
        let at = self.lists.words();
        self.lists.take_over(self.groups)?;
        self.lists.take_over(self.directory)?;
        let groups = self.count.div_ceil(GROUP as u64);
        self.lists.write_wide(&[self.count, at, groups, self.postings.words()])?;
        Ok([self.postings.finish()?, self.lists.finish()?])
    }
}

fn close_group(
    rows: &mut Vec<(u64, u64)>,
    packed: &mut Vec<u32>,
    groups: &mut Output,
    directory: &mut Output,
) -> Result<()> {
    directory.write_wide(&[groups.words()])?;
    packed.clear();
    pack_lists(rows, packed);
    groups.write_words(packed)?;
    rows.clear();
    Ok(())
}
