//! The files that grow list by list, written front to back.

use super::encode::{EncodedCodec, EncodedLists};
use super::output::Output;
use crate::codec::Codec;
use crate::index::format::Kind;
use crate::index::format::manifest::FileSpec;
use crate::index::format::tables::{GROUP, TermRow, pack_places, pack_terms};
use crate::index::{format, impacts};
use crate::{Error, Result};
use std::path::Path;

/// Appends the lists of one vector to a windowed file, in as few writes as the windows allow.
pub(in crate::index) struct Appender<'a> {
    output: &'a mut Output,
    window: u64,
    /// Where the next list goes, in words of the file.
    at: u64,
    /// Words of the vector that are written, and words that have a place.
    written: usize,
    placed: usize,
}

impl<'a> Appender<'a> {
    pub(in crate::index) fn new(output: &'a mut Output, window: u64) -> Self {
        let at = output.words();
        Self { output, window, at, written: 0, placed: 0 }
    }

    /// Gives the next `len` words of `words` a place and says where.
    pub(in crate::index) fn list(&mut self, words: &[u32], len: u64, what: &'static str) -> Result<u64> {
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
    pub(in crate::index) fn flush(&mut self, words: &[u32]) -> Result<()> {
        self.output.write_words(&words[self.written..self.placed])?;
        self.written = self.placed;
        Ok(())
    }
}

/// `terms.bin`.
pub(in crate::index) struct TermTableWriter {
    output: Output,
    directory: Output,
    rows: Vec<TermRow>,
    packed: Vec<u32>,
    /// Terms so far.
    pub(in crate::index) count: u64,
    /// Terms of more than one document so far.
    pub(in crate::index) lists: u64,
    lists_before: u64,
}

impl TermTableWriter {
    pub(in crate::index) fn create(dir: &Path) -> Result<Self> {
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

    pub(in crate::index) fn push(&mut self, row: TermRow) -> Result<()> {
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

    pub(in crate::index) fn finish(mut self) -> Result<FileSpec> {
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

/// Appends the frequencies of lists, and their rows.
pub(in crate::index) fn append_rows(
    tf: &mut Output,
    terms: &mut TermTableWriter,
    postings: &mut u64,
    lists: &EncodedLists,
    window: u64,
) -> Result<()> {
    let mut tf = Appender::new(tf, window);
    for row in &lists.rows {
        let mut row = *row;
        if row.df > 1 {
            row.tf_at = tf.list(&lists.tf, row.tf_at, "words of a list of term frequencies")?;
        }
        *postings += u64::from(row.df);
        terms.push(row)?;
    }
    tf.flush(&lists.tf)
}

/// Groups of places of lists, and their directory, on their way to the end of their file.
struct PlacesWriter<const N: usize> {
    groups: Output,
    directory: Output,
    rows: Vec<[u64; N]>,
    packed: Vec<u32>,
    count: u64,
}

impl<const N: usize> PlacesWriter<N> {
    /// `name` is the file's, less its extension.
    fn create(dir: &Path, name: &str) -> Result<Self> {
        Ok(Self {
            groups: Output::create(dir, &format!("{name}.groups"))?,
            directory: Output::create(dir, &format!("{name}.directory"))?,
            rows: Vec::with_capacity(GROUP),
            packed: Vec::new(),
            count: 0,
        })
    }

    fn push(&mut self, row: [u64; N]) -> Result<()> {
        self.rows.push(row);
        self.count += 1;
        if self.rows.len() == GROUP { self.close_group() } else { Ok(()) }
    }

    fn close_group(&mut self) -> Result<()> {
        self.directory.write_wide(&[self.groups.words()])?;
        self.packed.clear();
        pack_places(&self.rows, &mut self.packed);
        self.groups.write_words(&self.packed)?;
        self.rows.clear();
        Ok(())
    }

    /// Appends groups, directory and footer to the file; `last` is the footer's last number.
    fn finish(mut self, file: &mut Output, last: u64) -> Result<()> {
        if !self.rows.is_empty() {
            self.close_group()?;
        }
        let at = file.words();
        file.take_over(self.groups)?;
        file.take_over(self.directory)?;
        file.write_wide(&[self.count, at, self.count.div_ceil(GROUP as u64), last])
    }
}

/// The two files of a codec.
pub(in crate::index) struct CodecWriter {
    postings: Output,
    lists: Output,
    places: PlacesWriter<2>,
}

impl CodecWriter {
    pub(in crate::index) fn create(dir: &Path, codec: &dyn Codec) -> Result<Self> {
        let name = codec.name();
        let folder = dir.join(name);
        std::fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        let mut postings = Output::create(dir, &format!("{name}/postings.bin"))?;
        postings.write_words(&format::header(Kind::Postings, codec.id()))?;
        let mut lists = Output::create(dir, &format!("{name}/lists.bin"))?;
        lists.write_words(&format::header(Kind::Lists, codec.id()))?;
        Ok(Self { postings, lists, places: PlacesWriter::create(dir, &format!("{name}/lists"))? })
    }

    pub(in crate::index) fn append(&mut self, encoded: &EncodedCodec, window: u64) -> Result<()> {
        let skips: &[u32] = bytemuck::cast_slice(&encoded.skips);
        let mut words = Appender::new(&mut self.postings, window);
        let mut entries = Appender::new(&mut self.lists, window);
        for (&len, &skip_len) in encoded.lens.iter().zip(&encoded.skip_lens) {
            let at = words.list(&encoded.words, u64::from(len), "words of a list of docIDs")?;
            let skip_at = entries.list(skips, 3 * u64::from(skip_len), "words of skip entries of a list")?;
            self.places.push([at, skip_at])?;
        }
        words.flush(&encoded.words)?;
        entries.flush(skips)
    }

    pub(in crate::index) fn finish(mut self) -> Result<[FileSpec; 2]> {
        self.places.finish(&mut self.lists, self.postings.words())?;
        Ok([self.postings.finish()?, self.lists.finish()?])
    }
}

/// `impacts.bin`.
pub(in crate::index) struct ImpactWriter {
    output: Output,
    places: PlacesWriter<1>,
    impacts: u64,
}

impl ImpactWriter {
    pub(in crate::index) fn create(dir: &Path) -> Result<Self> {
        let mut output = Output::create(dir, impacts::IMPACTS)?;
        output.write_words(&format::header(Kind::Impacts, 0))?;
        Ok(Self { output, places: PlacesWriter::create(dir, "impacts")?, impacts: 0 })
    }

    /// Appends lists: the df of each, and the words of all.
    pub(in crate::index) fn append(&mut self, dfs: &[u32], words: &[u32], window: u64) -> Result<()> {
        let mut appender = Appender::new(&mut self.output, window);
        for &df in dfs {
            self.places.push([appender.list(words, impacts::words_of(df), "words of the impacts of a list")?])?;
            self.impacts += u64::from(df);
        }
        appender.flush(words)
    }

    pub(in crate::index) fn finish(mut self) -> Result<FileSpec> {
        self.places.finish(&mut self.output, self.impacts)?;
        self.output.finish()
    }
}
