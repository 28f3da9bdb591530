//! Which lists are in the memory of the device, and where. Either all lists are there, as they lie in the files, or the
//! lists that queries asked for last (Ding et al., WWW 2009, section 5).

use super::entries::{Entries, Entry};
use super::placed::{Placed, Windows, placed_at, placed_in};
use super::ranges::kernels::Ranges;
use super::report::Use;
use super::sound::{Missing, Sound, bring};
use crate::base::map::read_ahead;
use crate::base::simd::prefetch;
use crate::gpu::{Arena, GpuError};
use crate::index::{CodecRef, Impacts, Index, ListFiles, Place, TermInfo};
use crate::postings::{List, ListWords};
use crate::query::Searcher;
use crate::{Error, Result};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What became of a request for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The list is there, or will be after [`Residence::flush`].
    Placed(Placed),
    /// There is no room until the batches on their way are done.
    Full,
    /// The list is larger than the memory for lists.
    TooLarge,
}

/// No use of a list lays it out by range.
pub const NEVER: u32 = u32::MAX;

/// Kinds of room: for lists, and for their tables.
const LISTS: usize = 0;
const TABLES: usize = 1;

/// The lists of one codec on the device.
pub struct Residence<'a> {
    index: &'a Index,
    codec: CodecRef<'a>,
    /// If scores are sums of impacts, these take the place of the frequencies.
    impacts: Option<Impacts<'a>>,
    lists: Arena,
    tables: Option<Tables>,
    windows: Option<Windows>,
    entries: Entries,
    /// Lists by when they were asked for, the last time or before: all, and those that have tables.
    ages: [BTreeSet<(u64, u32)>; 2],
    tick: u64,
    /// What [`Self::flush`] has to look through and to bring.
    missing: Vec<Missing<'a>>,
    sound: Arc<Sound>,
    counts: Use,
}

/// Tables of range maxima, and postings by range.
#[derive(Debug)]
struct Tables {
    arena: Arena,
    by_range: Arena,
    /// The use of a list with which its postings are laid out by range.
    at_use: u32,
    ranges: Ranges,
}

impl Tables {
    /// Words of a list's postings by range, if it shall have them.
    fn by_range_words(&self, df: u32) -> Option<u32> {
        self.ranges.lies_by_range(df).then(|| self.ranges.by_range_words(df))
    }
}

impl<'a> Residence<'a> {
    /// For the lists that `searcher` reads. Nothing is there yet, and there are no tables of range maxima.
    pub fn new(searcher: &Searcher<'a>, lists: Arena) -> Self {
        Self {
            index: searcher.index(),
            codec: searcher.device_codec(),
            impacts: searcher.impacts(),
            lists,
            tables: None,
            windows: None,
            entries: Entries::new(searcher.index().statistics().lists as usize),
            ages: Default::default(),
            tick: 2,
            missing: Vec::new(),
            sound: searcher.sound(),
            counts: Use::default(),
        }
    }

    /// From now on lists can have tables of the maxima of these ranges in `arena`, and when they are asked for the
    /// `at_use`-th time, from 1 on, their postings are laid out in `by_range`; those of lists too short for a table are
    /// when they are first asked for. With [`NEVER`] none is.
    pub fn add_tables(&mut self, arena: Arena, by_range: Arena, at_use: u32, ranges: Ranges) {
        self.tables = Some(Tables { arena, by_range, at_use, ranges });
    }

    /// Makes room for so many tables, and for no more, before there is one.
    #[cfg(test)]
    pub fn keep_tables(&mut self, tables: u64, arena: impl FnOnce(u64) -> Arena) {
        if let Some(of) = &mut self.tables {
            of.arena = arena(tables * u64::from(of.ranges.table_words()));
        }
    }

    /// Words of all lists that `searcher` reads, without tables.
    pub fn words_of_all(searcher: &Searcher<'_>) -> u64 {
        let files = searcher.index().list_files(searcher.device_codec());
        let scores = searcher.impacts().map_or(files.tf, |impacts| impacts.file());
        [files.postings, files.skips, scores].iter().map(|words| words.len() as u64).sum()
    }

    /// Brings all lists, as they lie in the files. Each is looked through when a query first asks for it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the lists do not fit, or the device was lost.
    pub fn preload(&mut self) -> Result<()> {
        let files = self.index.list_files(self.codec);
        let mut found = Windows::default();
        // the largest pieces first, so that they fit
        let mut pieces: Vec<(&[u32], usize, usize)> = Vec::new();
        let scores = self.impacts.map_or(files.tf, |impacts| impacts.file());
        let needed = [files.postings, files.skips, scores].map(<[u32]>::len).iter().sum::<usize>();
        for (kind, words) in [files.postings, files.skips, scores].into_iter().enumerate() {
            // no list lies across two windows
            let windows = words.chunks(usize::try_from(files.window).unwrap_or(usize::MAX));
            pieces.extend(windows.enumerate().map(|(i, piece)| (piece, kind, i)));
        }
        pieces.sort_by_key(|(piece, ..)| std::cmp::Reverse(piece.len()));
        // no list uses the last word of a window
        let used =
            |piece: &'a [u32]| if piece.len() as u64 == files.window { &piece[..piece.len() - 1] } else { piece };
        let parts: Vec<&[u32]> = pieces.iter().map(|&(piece, ..)| used(piece)).collect();
        let (lists, stop) = (&mut self.lists, &AtomicBool::new(false));
        let places = std::thread::scope(|scope| {
            // From a cache of pages that has none of them the copying threads would read a piece each.
            let ahead = || parts.iter().for_each(|part| _ = read_ahead(bytemuck::cast_slice(part), stop));
            // without a thread for it all is as before
            let _ = std::thread::Builder::new().spawn_scoped(scope, ahead);
            let places = lists.fill(&parts);
            stop.store(true, Ordering::Relaxed);
            places
        });
        let Some(places) = places? else {
            return Err(Error::Invalid {
                what: "the memory for lists".to_owned(),
                why: format!(
                    "has no room for all lists ({} MiB and half as much for tables); give more --gpu-memory, or leave --preload out",
                    needed >> 18
                ),
            });
        };
        for ((at, part), &(_, kind, i)) in places.into_iter().zip(&parts).zip(&pieces) {
            self.counts.words += part.len() as u64;
            let target = match kind {
                0 => &mut found.postings,
                1 => &mut found.skips,
                _ => &mut found.tf,
            };
            target.resize(target.len().max(i + 1), 0);
            target[i] = at;
        }
        self.lists.wait()?;
        self.windows = Some(found);
        Ok(())
    }

    /// Fails unless each list stands among the ages once, and not behind the batch that last asked for it.
    #[cfg(test)]
    pub fn check_ages(&self) {
        let tabled = self.entries.iter().filter(|(_, entry)| entry.placed.table.is_some()).count();
        assert_eq!([self.ages[LISTS].len(), self.ages[TABLES].len()], [self.entries.len(), tabled]);
        for (number, entry) in self.entries.iter() {
            let stands = |kind: usize| self.ages[kind].contains(&(entry.aged[kind], number));
            assert!(stands(LISTS) && stands(TABLES) == entry.placed.table.is_some(), "{entry:?}");
            assert!(entry.aged.iter().all(|&aged| aged <= entry.tick), "{entry:?}");
        }
    }

    /// The memory for lists.
    pub fn lists(&self) -> &Arena {
        &self.lists
    }

    /// The memory for tables.
    pub fn tables(&self) -> Option<&Arena> {
        self.tables.as_ref().map(|tables| &tables.arena)
    }

    /// The memory for postings by range.
    pub fn by_range(&self) -> Option<&Arena> {
        self.tables.as_ref().map(|tables| &tables.by_range)
    }

    /// How the memory has been used.
    pub fn counts(&self) -> Use {
        self.counts
    }

    /// A new batch begins. The lists of the batch before stay; earlier lists may make room.
    pub fn begin(&mut self) {
        self.tick += 1;
    }

    /// Asks for what a request for a term's list and its bound will read, so that neither waits for the memory: first
    /// where it is, and later, with `found`, for itself.
    pub fn ahead(&self, info: &TermInfo, found: bool) {
        match info.place {
            Place::Single { doc } if found => prefetch(self.index.lens().get(doc as usize..).unwrap_or_default(), 1),
            Place::Single { .. } => {}
            Place::List { list, .. } if found => self.entries.ask_for_entry(list),
            Place::List { list, .. } => self.entries.ask_for_place(list),
        }
    }

    /// Asks for the list of a term for the batch. With `tabled` it asks for the table of range maxima, too, if the list
    /// can have one.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Gpu`] if the device was lost.
    pub fn request(&mut self, info: &TermInfo, tabled: bool) -> Result<Request> {
        // most queries ask for what is there
        if let Place::List { list: number, .. } = info.place
            && let Some(entry) = self.entries.get_mut(number)
        {
            self.counts.hits += 1;
            entry.tick = self.tick;
            entry.uses = entry.uses.saturating_add(1);
            let (placed, uses) = (entry.placed, entry.uses);
            return self.tabled(number, placed, tabled, uses).map(Request::Placed);
        }
        let list = match self.index.list(info, self.codec)? {
            List::Single { doc, tf } => {
                let value = self.impacts.map_or(tf, |impacts| impacts.bound(info).into());
                let placed = Placed { blocks: 1, df: 1, first: doc, tf: value, ..Placed::default() };
                return Ok(Request::Placed(placed));
            }
            List::Blocks(list) => list,
        };
        let (placed, own) = match self.find(&list, info)? {
            Ok(found) => found,
            Err(refused) => return Ok(refused),
        };
        self.entries.insert(list.number, Entry::new(placed, own, self.tick));
        self.ages[LISTS].insert((self.tick, list.number));
        self.tabled(list.number, placed, tabled, 1).map(Request::Placed)
    }

    /// The place of a list that has an entry; with `tabled`, with a table if it can have one and there is room, and
    /// with postings by range if this use calls for them.
    ///
    /// # Errors
    /// The device was lost.
    fn tabled(&mut self, number: u32, placed: Placed, tabled: bool, uses: u32) -> Result<Placed> {
        let Some(Tables { ranges, at_use, .. }) = self.tables.as_ref().filter(|_| tabled) else { return Ok(placed) };
        let (long, table_words) = (placed.df >= ranges.table_df(), ranges.table_words());
        // to lay a short list out takes less than to make a table
        let at_use = if long || *at_use == NEVER { *at_use } else { 1 };
        let lacks_table = long && placed.table.is_none();
        if !lacks_table && uses != at_use {
            return Ok(placed);
        }
        let mut found = placed;
        if lacks_table {
            // without room for a table the device looks through the list, which takes longer
            let Some(at) = self.make_room(table_words, TABLES)? else { return Ok(placed) };
            found.table = Some(at);
        }
        if placed.by_range.is_none()
            && uses >= at_use
            && let Some(tables) = &mut self.tables
            && let Some(words) = tables.by_range_words(placed.df)
        {
            // without room for these it decodes blocks
            found.by_range = tables.by_range.take(words)?;
        }
        if let Some(entry) = self.entries.get_mut(number) {
            entry.placed = found;
            if lacks_table {
                entry.aged[TABLES] = self.tick;
                self.ages[TABLES].insert((self.tick, number));
            }
        }
        let new_by_range = found.by_range != placed.by_range;
        Ok(Placed { new_table: lacks_table, new_by_range, ..found })
    }

    /// Finds the place of a list that has no entry, in a window or in newly taken words. Returns the place, and the
    /// words if it took any.
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
            let placed = placed_in(list, windows, files.window, impacts);
            if !self.sound.knows(list.number) {
                self.missing.push(Missing { list: list.clone(), at: 0, parts: [&[]; 3] });
            }
            return Ok(Ok((placed, None)));
        }
        let scores = match self.impacts {
            Some(impacts) => impacts.words(info)?,
            None => tf_words(list, &files)?,
        };
        let parts = [bytemuck::cast_slice(list.skips), &list.words[..list.len_words()?], scores];
        let lens = parts.map(|part: &[u32]| part.len());
        let Ok(total) = u32::try_from(lens.iter().sum::<usize>()) else { return Ok(Err(Request::TooLarge)) };
        let Some(at) = self.make_room(total, LISTS)? else { return Ok(Err(self.refused(total))) };
        let list_at = at + lens[0] as u32;
        self.counts.misses += 1;
        self.counts.words += u64::from(total);
        self.missing.push(Missing { list: list.clone(), at, parts });
        let placed = placed_at(list, list_at, at, list_at + lens[1] as u32, self.impacts.is_some());
        Ok(Ok((placed, Some((at, total)))))
    }

    fn refused(&self, words: u32) -> Request {
        if words > self.lists.largest() { Request::TooLarge } else { Request::Full }
    }

    /// Takes room of a kind for `words` words. If there is none, it drops what was asked for longest ago, but nothing
    /// of this batch or the one before: lists for a list, and for a table only tables, without which lists can be used.
    ///
    /// # Errors
    /// The device was lost.
    fn make_room(&mut self, words: u32, kind: usize) -> Result<Option<u32>, GpuError> {
        loop {
            let tables = self.tables.as_mut().filter(|_| kind == TABLES).map(|tables| &mut tables.arena);
            if let Some(at) = tables.unwrap_or(&mut self.lists).take(words)? {
                return Ok(Some(at));
            }
            let Some((_, number)) = self.oldest(kind).filter(|&(tick, _)| tick + 1 < self.tick) else {
                return Ok(None);
            };
            if kind == TABLES {
                self.drop_table(number);
            } else {
                self.counts.evicted += u64::from(self.remove(number));
            }
        }
    }

    /// The list of a kind that was last asked for longest ago, and when.
    fn oldest(&mut self, kind: usize) -> Option<(u64, u32)> {
        loop {
            let &(aged, number) = self.ages[kind].first()?;
            let entry = self.entries.get_mut(number).filter(|entry| entry.tick != aged);
            let Some(entry) = entry else { return Some((aged, number)) };
            entry.aged[kind] = entry.tick;
            self.ages[kind].remove(&(aged, number));
            self.ages[kind].insert((entry.tick, number));
        }
    }

    /// Drops the table of a list.
    fn drop_table(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(number) else { return };
        self.ages[TABLES].remove(&(entry.aged[TABLES], number));
        if let (Some(at), Some(tables)) = (entry.placed.table.take(), &mut self.tables) {
            tables.arena.give(at, tables.ranges.table_words());
        }
    }

    /// Drops the lists with these tables, and with these postings by range, which a batch should have made but did not.
    pub fn abandon(&mut self, tables: &HashSet<u32>, by_range: &HashSet<u32>) {
        if tables.is_empty() && by_range.is_empty() {
            return;
        }
        let lacks = |at: Option<u32>, missing: &HashSet<u32>| at.is_some_and(|at| missing.contains(&at));
        let made = |entry: &Entry| !lacks(entry.placed.table, tables) && !lacks(entry.placed.by_range, by_range);
        let gone: Vec<u32> = self.entries.iter().filter(|(_, entry)| !made(entry)).map(|(number, _)| number).collect();
        gone.into_iter().for_each(|number| _ = self.remove(number));
    }

    /// Drops a list. False if it held no memory of its own.
    fn remove(&mut self, number: u32) -> bool {
        let tabled = self.entries.get(number).is_some_and(|entry| entry.placed.table.is_some());
        self.drop_table(number);
        let Some(entry) = self.entries.remove(number) else { return false };
        self.ages[LISTS].remove(&(entry.aged[LISTS], number));
        if let Some((at, words)) = entry.own {
            self.lists.give(at, words);
        }
        if let Some(tables) = &mut self.tables
            && let (Some(at), Some(words)) = (entry.placed.by_range, tables.by_range_words(entry.placed.df))
        {
            tables.by_range.give(at, words);
        }
        entry.own.is_some() || tabled || entry.placed.by_range.is_some()
    }

    /// Brings the lists that were asked for and are not there. Meanwhile it looks through those that nobody has looked
    /// through before. Damaged ones are dropped again. Does not wait for the device.
    ///
    /// # Errors
    /// [`Error::Damaged`]: no kernel may read the lists of this batch. [`Error::Gpu`] if the device was lost.
    pub fn flush(&mut self) -> Result<()> {
        let missing = std::mem::take(&mut self.missing);
        if missing.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let (damaged, sent) = bring(&missing, &self.sound, &mut self.lists, self.impacts.is_none());
        self.counts.spent += start.elapsed();
        damaged.iter().for_each(|&(number, _)| _ = self.remove(number));
        if let Err(error) = sent {
            // Their words are not there, whatever somebody asks for next.
            missing.iter().for_each(|missing| _ = self.remove(missing.list.number));
            return Err(error.into());
        }
        damaged.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }
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
