//! The lists of several indexes as one.

use super::super::moved::{PostingSorter, afforded};
use super::input::{Input, held, most_moved};
use super::share::{Task, cost};
use super::terms::{Has, Numbers};
use crate::Result;
use crate::base::bits::UNPACKED;
use crate::base::means::Means;
use crate::error::damaged;
use crate::index::format::tables::Place;
use crate::index::write::encode::Present;
use crate::index::{EncodedLists, ListBatch, ListEncoder};
use crate::postings::ListWords;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Postings that a thread handles at a time; a longer list is alone.
pub(super) const BATCH: u64 = 1 << 18;

/// Terms that a thread handles at a time, at most.
const TERMS: u32 = 1 << 15;

/// Terms whose rows are looked up before the lists of any: so the processor waits for the memory of many at once.
const TOGETHER: u32 = 128;

/// A long list that a list of the union has.
struct Part {
    input: usize,
    number: u32,
    /// Postings of the list before it.
    at: usize,
}

/// What a thread uses again for each task.
struct Room {
    batch: ListBatch,
    tfs: [u32; UNPACKED],
    /// The long ones of each list end where those of the next begin.
    parts: Vec<Part>,
    ends: Vec<usize>,
    /// Number of the input and what it has; which of them are of the same list, by where they end.
    found: Vec<(usize, Has)>,
    found_ends: Vec<usize>,
    /// It holds memory for every document of an input that moves.
    sorter: PostingSorter,
}

pub(super) struct Lists<'a> {
    inputs: &'a [Input<'a>],
    numbers: &'a Numbers<'a>,
    /// A list of no more postings is one block in every codec.
    short: u32,
    rooms: Mutex<Vec<Room>>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(inputs: &'a [Input<'a>], numbers: &'a Numbers<'a>) -> Self {
        let short = inputs.iter().flat_map(|input| input.index.codecs()).map(|codec| codec.codec().block_len()).min();
        let short = short.unwrap_or(0) as u32;
        Self { inputs, numbers, short, rooms: Mutex::default() }
    }

    /// The termIDs, cut into tasks of some [`BATCH`] postings.
    pub(super) fn tasks(&self) -> Vec<Task> {
        let (mut tasks, mut first, mut postings, mut costs) = (Vec::new(), 0, 0u64, 0);
        let inputs = self.inputs.len() as u64;
        for (term, &df) in (0..).zip(&self.numbers.dfs) {
            let df = u64::from(df);
            let full = postings + df > BATCH || term - first >= TERMS;
            if postings > 0 && full {
                tasks.push(Task { terms: first..term, postings, cost: costs });
                (first, postings, costs) = (term, 0, 0);
            }
            postings += df;
            costs += cost(df, inputs);
        }
        let end = self.numbers.dfs.len() as u32;
        if first < end {
            tasks.push(Task { terms: first..end, postings, cost: costs });
        }
        tasks
    }

    /// The means with as few threads as there is memory for lists of these tasks, in so many codecs.
    pub(super) fn afforded(&self, tasks: &[Task], codecs: usize, means: &Means) -> Result<Means> {
        let postings = tasks.iter().map(|task| task.postings).collect();
        let (held, moved) = (held(self.inputs, means), most_moved(self.inputs));
        afforded(means, held, postings, moved, codecs, "a merge of lists of this length")
    }

    /// Finds what the inputs have of some terms. Rows and words lie anywhere in memory, so each step asks for what the
    /// next one reads.
    fn find(&self, terms: Range<u32>, room: &mut Room) {
        let Room { found, found_ends, .. } = room;
        found.clear();
        found_ends.clear();
        terms.clone().for_each(|term| self.numbers.prefetch_start(term));
        terms.clone().for_each(|term| self.numbers.prefetch_entries(term));
        for term in terms {
            for (input, has) in self.numbers.entries(term).iter().map(|entry| entry.get()) {
                if let Has::List { number } = has {
                    self.numbers.rows[input].prefetch(number);
                }
                found.push((input, has));
            }
            found_ends.push(found.len());
        }
        for &(input, has) in &*found {
            if let Has::List { number } = has {
                self.numbers.rows[input].prefetch_list(number);
            }
        }
    }

    /// The lists of a task in the codecs of the union, and how many postings they have.
    pub(super) fn encode(&self, terms: &Range<u32>, mut encoder: ListEncoder) -> Result<(EncodedLists, u64)> {
        let lock = || self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let mut room = kept.unwrap_or_else(Room::new);
        room.clear(terms.start);
        for first in terms.clone().step_by(TOGETHER as usize) {
            self.find(first..terms.end.min(first + TOGETHER), &mut room);
            self.decode(&mut room)?;
        }
        let (parts, ends) = (&room.parts, &room.ends);
        let present = |list: usize, codec: usize, found: &mut Vec<Present<'a>>| {
            let first = list.checked_sub(1).map_or(0, |before| ends[before]);
            found.extend(parts[first..ends[list]].iter().filter_map(|part| self.present(part, codec)));
        };
        let encoded = encoder.encode_present(&room.batch, present);
        let postings = room.batch.docs.len() as u64;
        // A long list takes more than others should keep.
        if room.batch.docs.capacity() as u64 > 2 * BATCH {
            room.batch = ListBatch::default();
        }
        lock().push(room);
        Ok((encoded, postings))
    }

    /// Decodes what was found.
    fn decode(&self, room: &mut Room) -> Result<()> {
        let Room { batch, tfs, parts, ends, found, found_ends, sorter } = room;
        let mut first = 0;
        for &end in &*found_ends {
            let start = batch.docs.len();
            for &(input, has) in &found[first..end] {
                let at = batch.docs.len() - start;
                let posting = match has {
                    Has::Posting { doc, tf } => Some((doc, tf)),
                    Has::Term { id } => Some(self.posting(input, id)?),
                    Has::List { number } => {
                        let rows = &self.numbers.rows[input];
                        self.append(input, &rows.list(number)?, at > 0, (tfs, sorter), batch)?;
                        if rows.df(number) > self.short {
                            parts.push(Part { input, number, at });
                        }
                        None
                    }
                };
                if let Some((doc, tf)) = posting {
                    let input = &self.inputs[input];
                    let place = input.moved.as_ref().map_or(doc, |moved| moved.new_of_old[doc as usize]);
                    batch.docs.push(place + input.base);
                    batch.tfs.push(tf);
                }
            }
            first = end;
            batch.lens.push((batch.docs.len() - start) as u32);
            ends.push(parts.len());
        }
        Ok(())
    }

    /// The posting of a termID of one document.
    fn posting(&self, input: usize, id: u32) -> Result<(u32, u32)> {
        let index = self.inputs[input].index;
        let info = index.term(id)?;
        match info.place {
            Place::Single { doc } => Ok((doc, info.tf_max)),
            Place::List { .. } => Err(index.bad_term(id, "had one document, and now has more")),
        }
    }

    /// Appends a list of an input; `later`: some of the list is there already.
    fn append(
        &self,
        number: usize,
        list: &ListWords<'_>,
        later: bool,
        (room, sorter): (&mut [u32; UNPACKED], &mut PostingSorter),
        batch: &mut ListBatch,
    ) -> Result<()> {
        let input = &self.inputs[number];
        let start = batch.docs.len();
        if let Some(moved) = &input.moved {
            let (mut docs, mut tfs) = (Vec::new(), Vec::new());
            list.decode_all(&mut docs)?;
            list.decode_tfs(room, &mut tfs)?;
            sorter.sort((&docs, &tfs), &moved.new_of_old, input.documents as usize, input.base, batch);
            return Ok(());
        }
        list.decode_all(&mut batch.docs)?;
        batch.docs[start..].iter_mut().for_each(|doc| *doc += input.base);
        list.decode_tfs(room, &mut batch.tfs)?;
        if later && batch.docs[start - 1] >= batch.docs[start] {
            let what = format!("list {} would begin before the postings of another index end", list.number);
            return Err(damaged(list.postings_path, 4 * list.postings_at, what));
        }
        Ok(())
    }

    /// A part of a list as its input has it in a codec, if its blocks can be copied.
    fn present(&self, part: &Part, codec: usize) -> Option<Present<'a>> {
        let input: &'a Input<'a> = &self.inputs[part.input];
        let codec = input.index.codecs().nth(codec)?;
        let (rows, block_len) = (&self.numbers.rows[part.input], codec.codec().block_len());
        let long = rows.df(part.number) as usize > block_len;
        if !long || !part.at.is_multiple_of(block_len) || input.moved.is_some() {
            return None;
        }
        let list = rows.list_in(part.number, codec).ok()?;
        Some(Present { at: part.at, shift: input.base, list })
    }
}

impl Room {
    fn new() -> Self {
        Self {
            batch: ListBatch::default(),
            tfs: [0; UNPACKED],
            parts: Vec::new(),
            ends: Vec::new(),
            found: Vec::new(),
            found_ends: Vec::new(),
            sorter: PostingSorter::default(),
        }
    }

    /// Makes room for a task.
    fn clear(&mut self, first_term: u32) {
        self.batch.first_term = first_term;
        self.batch.lens.clear();
        self.batch.docs.clear();
        self.batch.tfs.clear();
        self.parts.clear();
        self.ends.clear();
    }
}
