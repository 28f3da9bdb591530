//! Which lists are in the memory of the device, and where: all of them as they lie in the files, or those that queries asked
//! for last (Ding et al., WWW 2009, section 5).

use super::arena::Arena;
use crate::codec::MAX_BLOCK_LEN;
use crate::index::{CodecRef, Impacts, Index, List, ListFiles, ListWords, TermInfo, tf};
use crate::query::Searcher;
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// Where a list is, as kernels read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Address of its first word.
    pub list: u32,
    /// Address of its skip entries, if it has several blocks.
    pub skips: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of postings.
    pub df: u32,
    /// First docID.
    pub first: u32,
    /// Address of its frequencies or impacts, or the one that all postings have.
    pub tf: u32,
    /// How frequencies are kept.
    pub kind: TfKind,
    /// Address of the table of range maxima, if it has one.
    pub table: Option<u32>,
    /// Whether that table has not been computed yet.
    pub new_table: bool,
}

/// How the frequencies or impacts of a list are kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TfKind {
    /// One number for all postings.
    #[default]
    Constant = 0,
    /// One block.
    Block = 1,
    /// Several blocks behind their directory.
    Directory = 2,
}

/// What became of a request for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// It is there, or will be after [`Residence::flush`].
    Placed(Placed),
    /// There is no room until the batches on their way are done.
    Full,
    /// It is larger than the memory for lists.
    TooLarge,
}

/// How the memory has been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Lists that were there when a query asked for them.
    pub hits: u64,
    /// Lists that had to be brought.
    pub misses: u64,
    /// Words brought.
    pub words: u64,
    /// Lists and tables that made room.
    pub evicted: u64,
}

/// What one list holds of the arena.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its words, if they are not part of a window: where, and how many.
    own: Option<(u32, u32)>,
    tick: u64,
    placed: Placed,
}

/// Addresses of the windows of the files, if all of them are there.
#[derive(Debug, Default)]
struct Windows {
    postings: Vec<u32>,
    skips: Vec<u32>,
    tf: Vec<u32>,
}

/// The lists of one codec on the device.
pub struct Residence<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    /// Where scores are sums of them, they lie where frequencies do otherwise.
    impacts: Option<Impacts<'a>>,
    lists: Arena,
    tables: Arena,
    windows: Option<Windows>,
    entries: HashMap<u32, Entry>,
    /// Lists by when they were last asked for.
    ages: BTreeMap<(u64, u32), ()>,
    tick: u64,
    /// What [`Self::flush`] has to bring: where to, and which words.
    missing: Vec<(u32, [&'a [u32]; 3])>,
    /// Words of a table, and the df from which on a list has one.
    table_words: u32,
    table_df: u32,
    counts: Use,
}

/// The windows of a file: all its words in pieces that no list straddles.
fn windows(words: &[u32], window: u64) -> impl Iterator<Item = &[u32]> {
    words.chunks(usize::try_from(window).unwrap_or(usize::MAX))
}

impl<'a> Residence<'a> {
    /// For the lists that `searcher` reads, nothing being there yet. A list of at least `table_df` postings gets a table of
    /// `table_words` words.
    pub fn new(searcher: &Searcher<'a>, lists: Arena, tables: Arena, table_words: u32, table_df: u32) -> Self {
        Self {
            index: searcher.index(),
            codec: searcher.codec(),
            impacts: searcher.impacts(),
            lists,
            tables,
            windows: None,
            entries: HashMap::new(),
            ages: BTreeMap::new(),
            tick: 2,
            missing: Vec::new(),
            table_words,
            table_df,
            counts: Use::default(),
        }
    }

    /// Words that the lists that `searcher` reads need if all of them are brought, without tables.
    pub fn words_of_all(searcher: &Searcher<'_>) -> u64 {
        let files = searcher.index().list_files(searcher.codec());
        let scores = searcher.impacts().map_or(files.tf, |impacts| impacts.file());
        [files.postings, files.skips, scores].iter().map(|words| words.len() as u64).sum()
    }

    /// Brings all lists, as they lie in the files, whose checksums are compared first: what goes to the device is not looked at
    /// again.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they do not fit, [`Error::Damaged`], or the device was lost.
    pub fn preload(&mut self) -> Result<()> {
        let folder = format!("{}/", self.codec.codec().name());
        let scores = if self.impacts.is_some() { "impacts.bin" } else { "tf.bin" };
        self.index.check_checksums(|name| name.starts_with(&folder) || name == scores)?;
        let files = self.index.list_files(self.codec);
        let mut found = Windows::default();
        // the largest pieces first, so that they fit
        let mut pieces: Vec<(&[u32], usize, usize)> = Vec::new();
        let scores = self.impacts.map_or(files.tf, |impacts| impacts.file());
        let needed = [files.postings, files.skips, scores].map(<[u32]>::len).iter().sum::<usize>();
        for (kind, words) in [files.postings, files.skips, scores].into_iter().enumerate() {
            pieces.extend(windows(words, files.window).enumerate().map(|(i, piece)| (piece, kind, i)));
        }
        pieces.sort_by_key(|(piece, ..)| std::cmp::Reverse(piece.len()));
        for (piece, kind, i) in pieces {
            let target = [&mut found.postings, &mut found.skips, &mut found.tf].into_iter().nth(kind);
            let used = if piece.len() as u64 == files.window { &piece[..piece.len() - 1] } else { piece };
            let at = u32::try_from(used.len()).ok().and_then(|words| self.lists.take(words));
            let (Some(at), Some(target)) = (at, target) else {
                return Err(Error::Invalid {
                    what: "the memory for lists".to_owned(),
                    why: format!(
                        "has no room for all lists ({} MiB and half as much for tables); give more --gpu-memory, or leave --preload out",
                        needed >> 18
                    ),
                });
            };
            self.lists.write(at, used)?;
            self.counts.words += used.len() as u64;
            target.resize(target.len().max(i + 1), 0);
            target[i] = at;
        }
        self.windows = Some(found);
        Ok(())
    }

    /// The memory for lists, and that for tables.
    pub fn arenas(&self) -> [&Arena; 2] {
        [&self.lists, &self.tables]
    }

    /// How the memory has been used.
    pub fn counts(&self) -> Use {
        self.counts
    }

    /// A new batch begins. What the one before asked for stays; what was asked for earlier may make room.
    pub fn begin(&mut self) {
        self.tick += 1;
    }

    /// Asks for the list of a term for the batch.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    pub fn request(&mut self, info: &TermInfo) -> Result<Request> {
        let list = match self.index.list(info, self.codec)? {
            List::Single { doc, tf } => {
                let value = self.impacts.map_or(tf, |impacts| impacts.bound(info).into());
                let placed = Placed { blocks: 1, df: 1, first: doc, tf: value, ..Placed::default() };
                return Ok(Request::Placed(placed));
            }
            List::Blocks(list) => list,
        };
        let (mut placed, own) = match self.entries.get_mut(&list.number) {
            Some(entry) => {
                self.ages.remove(&(entry.tick, list.number));
                self.ages.insert((self.tick, list.number), ());
                entry.tick = self.tick;
                self.counts.hits += 1;
                (entry.placed, entry.own)
            }
            None => match self.find(&list, info)? {
                Ok(found) => found,
                Err(refused) => return Ok(refused),
            },
        };
        let mut new_table = false;
        if list.df >= self.table_df && placed.table.is_none() {
            // without room for one the list is looked through, which takes longer
            placed.table = self.make_room(self.table_words, true);
            new_table = placed.table.is_some();
        }
        if own.is_some() || placed.table.is_some() {
            self.entries.insert(list.number, Entry { own, tick: self.tick, placed });
            self.ages.insert((self.tick, list.number), ());
        }
        Ok(Request::Placed(Placed { new_table, ..placed }))
    }

    /// Where a list is that no entry knows, and the words that it takes up for itself: in a window, or in a new place.
    #[allow(clippy::type_complexity, reason = "taken apart at once")]
    fn find(
        &mut self,
        list: &ListWords<'a>,
        info: &TermInfo,
    ) -> Result<std::result::Result<(Placed, Option<(u32, u32)>), Request>> {
        let files = self.index.list_files(self.codec);
        if let Some(windows) = &self.windows {
            let impacts = self.impacts.map(|impacts| impacts.place(list.number)).transpose()?;
            self.counts.hits += 1;
            return Ok(Ok((placed_in(list, windows, files.window, impacts), None)));
        }
        check(list)?;
        let scores = match self.impacts {
            Some(impacts) => impacts.words(info)?,
            None => tf_words(list, &files)?,
        };
        let parts = [bytemuck::cast_slice(list.skips), &list.words[..list.len_words()?], scores];
        let lens = parts.map(|part: &[u32]| part.len());
        let Ok(total) = u32::try_from(lens.iter().sum::<usize>()) else { return Ok(Err(Request::TooLarge)) };
        let Some(at) = self.make_room(total, false) else { return Ok(Err(self.refused(total))) };
        let list_at = at + lens[0] as u32;
        self.counts.misses += 1;
        self.counts.words += u64::from(total);
        self.missing.push((at, parts));
        let placed = placed_at(list, list_at, at, list_at + lens[1] as u32, self.impacts.is_some());
        Ok(Ok((placed, Some((at, total)))))
    }

    fn refused(&self, words: u32) -> Request {
        let whole = self.lists.buffers().map(|buffer| buffer.bytes() / 4).max().unwrap_or(0);
        if u64::from(words) > whole { Request::TooLarge } else { Request::Full }
    }

    /// Room for `words` words, if need be by letting go of what was asked for longest ago, but not for this batch or the one before.
    fn make_room(&mut self, words: u32, table: bool) -> Option<u32> {
        loop {
            let arena = if table { &mut self.tables } else { &mut self.lists };
            if let Some(at) = arena.take(words) {
                return Some(at);
            }
            let oldest = self.ages.first_key_value().map(|(&key, ())| key);
            let (_, number) = oldest.filter(|&(tick, _)| tick + 1 < self.tick)?;
            self.remove(number);
            self.counts.evicted += 1;
        }
    }

    /// Lets go of the lists with these tables: they were promised to be made, and were not.
    pub fn abandon(&mut self, tables: &[u32]) {
        let made = |entry: &Entry| entry.placed.table.is_none_or(|at| !tables.contains(&at));
        let gone: Vec<u32> = self.entries.iter().filter(|(_, entry)| !made(entry)).map(|(&number, _)| number).collect();
        gone.into_iter().for_each(|number| self.remove(number));
    }

    fn remove(&mut self, number: u32) {
        let Some(entry) = self.entries.remove(&number) else { return };
        self.ages.remove(&(entry.tick, number));
        if let Some((at, words)) = entry.own {
            self.lists.give(at, words);
        }
        if let Some(at) = entry.placed.table {
            self.tables.give(at, self.table_words);
        }
    }

    /// Brings what was asked for and is not there: neighbours together.
    ///
    /// # Errors
    /// The device was lost.
    pub fn flush(&mut self) -> Result<()> {
        let mut missing = std::mem::take(&mut self.missing);
        missing.sort_by_key(|&(at, _)| at);
        let mut words: Vec<u32> = Vec::new();
        let mut start = 0;
        for (at, parts) in missing {
            if !words.is_empty() && (words.len() > WRITE_WORDS || !self.lists.adjoin(start, words.len() as u32, at)) {
                self.lists.write(start, &words)?;
                words.clear();
            }
            if words.is_empty() {
                start = at;
            }
            parts.iter().for_each(|part| words.extend_from_slice(part));
        }
        if words.is_empty() { Ok(()) } else { Ok(self.lists.write(start, &words)?) }
    }
}

/// Words that are put together for one write, about.
const WRITE_WORDS: usize = 1 << 24;

/// Fails if the list is damaged: what goes to the device is not looked at again.
fn check(list: &ListWords<'_>) -> Result<()> {
    let mut docs = [0; MAX_BLOCK_LEN];
    for block in 0..list.blocks() {
        list.decode(block, &mut docs)?;
    }
    Ok(())
}

/// The words of a list's frequencies.
fn tf_words<'a>(list: &ListWords<'a>, files: &ListFiles<'a>) -> Result<&'a [u32]> {
    let find = || {
        let len = list.tf.len_words()?;
        if len == 0 {
            return Some(&[][..]);
        }
        let at = usize::try_from(list.tf_at).ok()?;
        files.tf.get(at..at.checked_add(len)?)
    };
    find().ok_or_else(|| list.bad_tf(0))
}

/// A list whose parts are at these addresses.
pub(super) fn placed_at(list: &ListWords<'_>, at: u32, skips: u32, tf: u32, impacts: bool) -> Placed {
    let (tf, kind) = match list.df as usize {
        _ if impacts => (tf, TfKind::Block),
        _ if list.tf.all_one() => (1, TfKind::Constant),
        df if df <= tf::BLOCK => (tf, TfKind::Block),
        _ => (tf, TfKind::Directory),
    };
    let blocks = list.blocks() as u32;
    Placed { list: at, skips, blocks, df: list.df, first: list.first, tf, kind, ..Placed::default() }
}

/// A list in files that are there as a whole.
fn placed_in(list: &ListWords<'_>, windows: &Windows, window: u64, impacts: Option<u64>) -> Placed {
    let address = |bases: &[u32], at: u64| {
        // the reader has checked that the parts lie in their files
        let base = bases.get((at / window) as usize).copied().unwrap_or(0);
        base.wrapping_add((at % window) as u32)
    };
    let skips = if list.skips.is_empty() { 0 } else { address(&windows.skips, list.skips_at) };
    let tf = match impacts {
        Some(at) => address(&windows.tf, at),
        None if list.tf.all_one() => 0,
        None => address(&windows.tf, list.tf_at),
    };
    placed_at(list, address(&windows.postings, list.postings_at), skips, tf, impacts.is_some())
}
