//! What a device found for the queries of a batch.

use super::report::Work;
use super::rows::{Head, State};
use super::slot::Slot;
use crate::gpu::{Gpu, GpuError, Step};
use crate::query::Hit;
use crate::query::topk::place_of;
use std::borrow::Cow;

/// What was found for the queries of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// For each query where its results start, and how many there are. `None` if there were more results than room, so
    /// that the best may be missing.
    pub(super) places: Vec<Option<(usize, usize)>>,
    /// Results: pairs (docID, score in whole numbers), or docIDs alone.
    pub(super) words: Vec<u32>,
    pub(super) ranked: bool,
    /// For each query a score that as many documents as are wanted have, or 0 if none is known. May be empty.
    pub(super) least: Vec<u32>,
    /// Blocks that were decoded.
    pub decoded: u64,
    /// The work that was done range by range, if the batch went that way.
    pub ranges: Option<Work>,
    /// Passes in the order of their runs, with their seconds, if they were timed.
    pub passes: Vec<(&'static str, f64)>,
}

/// A word of what a device sent; 0 if it sent fewer words.
pub fn word(words: &[u32], i: usize) -> u32 {
    words.get(i).copied().unwrap_or(0)
}

/// The words of a buffer that the host reads.
pub fn words(bytes: &[u8]) -> Cow<'_, [u32]> {
    bytemuck::try_cast_slice(bytes).map_or_else(|_| bytemuck::pod_collect_to_vec(bytes).into(), Cow::Borrowed)
}

/// The rows in which the best hits of a batch come to the host, one a query. A row says how many hits there were and
/// how many follow, and has `most` pairs (docID, score).
#[derive(Clone, Copy, Debug)]
pub struct BestRows {
    /// Number of rows.
    pub queries: usize,
    /// A query sends at most so many hits.
    pub most: u32,
    /// A query had room for so many hits.
    pub room: u32,
}

impl BestRows {
    /// Words of a row.
    fn each(self) -> usize {
        2 + 2 * self.most as usize
    }

    /// Words of all rows.
    pub fn words(self) -> usize {
        self.queries * self.each()
    }

    /// Reads the rows. `order` says for each row the place of its query in the batch.
    pub fn read(self, words: &[u32], order: impl Iterator<Item = usize>) -> Found {
        let mut found = Found { ranked: true, places: vec![Some((0, 0)); self.queries], ..Found::default() };
        for (row, query) in (0..self.queries).zip(order) {
            let at = row * self.each();
            let (all, count) = (word(words, at), word(words, at + 1));
            let start = found.words.len() / 2;
            found.places[query] = (all <= self.room && count <= self.most).then_some((start, count as usize));
            let hits = at + 2..at + 2 + 2 * count.min(self.most) as usize;
            found.words.extend_from_slice(words.get(hits).unwrap_or_default());
        }
        found
    }
}

/// All hits of a batch, whose number the host learns first. A query's hits are pairs (docID, score), `room` a query.
#[derive(Clone, Copy, Debug)]
pub struct AllHits {
    /// Number of queries.
    pub queries: usize,
    /// A query had room for so many hits.
    pub room: u32,
}

impl AllHits {
    /// Reads how many hits each query has: for query `q` word `first + q * stride` says it.
    pub fn read_counts(self, words: &[u32], first: u32, stride: u32) -> Found {
        let mut start = 0;
        let place = |query: usize| {
            let count = word(words, first as usize + query * stride as usize);
            let place = (count <= self.room).then_some((start, count as usize));
            start += place.map_or(0, |(_, count)| count);
            place
        };
        Found { ranked: true, places: (0..self.queries).map(place).collect(), ..Found::default() }
    }

    /// Brings the hits from a buffer of the slot.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub fn bring(self, gpu: &Gpu, slot: &mut Slot, hits: &str, found: &mut Found) -> Result<(), GpuError> {
        let all: usize = found.places.iter().flatten().map(|(_, count)| count).sum();
        if all == 0 {
            return Ok(());
        }
        slot.need_download(8 * all as u64)?;
        let (from, to) = (slot.buffer(hits), slot.download());
        let of_query = |(query, place): (u64, &Option<(usize, usize)>)| {
            let (start, count) = place.filter(|(_, count)| *count > 0)?;
            let (from, to) = ((from, 8 * query * u64::from(self.room)), (to, 8 * start as u64));
            Some(Step::CopyPart { from, to, bytes: 8 * count as u64 })
        };
        let steps: Vec<Step<'_>> = (0..).zip(&found.places).filter_map(of_query).collect();
        let pending = gpu.submit("hits", &steps, false)?;
        let read = |bytes: &[u8]| words(bytes).get(..2 * all).unwrap_or_default().to_vec();
        found.words = gpu.finish(pending, slot.download(), read)?.0;
        Ok(())
    }
}

/// The hits of a query that is a batch of its own, as they lie in the memory of the device: [`Head::WORDS`] words, the
/// query's threshold and its number of hits, and the first hits, pairs (docID, score). To leave some out on the host
/// takes less time than a pass.
#[derive(Clone, Copy, Debug)]
pub struct FirstHits {
    /// So many hits come.
    pub most: u32,
    /// The query had room for so many hits.
    pub room: u32,
}

const _: () = assert!(State::THRESHOLD < State::HITS, "the first words of a query's state");

impl FirstHits {
    /// Words before the hits: the first of the state.
    pub const STATE: usize = (Head::WORDS + State::HITS) as usize + 1;

    /// All words.
    pub fn words(self) -> usize {
        Self::STATE + 2 * self.most as usize
    }

    /// Reads them. If there are more hits than came, but no more than the room, none is read but how many there are.
    pub fn read(self, words: &[u32]) -> Found {
        if words.len() < self.words() {
            return Found::default();
        }
        let state = |at: u32| word(words, (Head::WORDS + at) as usize);
        let (least, all) = (state(State::THRESHOLD), state(State::HITS));
        let mut found = Found { ranked: true, least: vec![least], ..Found::default() };
        if all <= self.most {
            let hits = words.get(Self::STATE..Self::STATE + 2 * all as usize).unwrap_or_default();
            found.words = hits.chunks_exact(2).filter(|hit| hit[1] >= least).flatten().copied().collect();
        }
        let count = if all <= self.most { found.words.len() / 2 } else { all as usize };
        found.places = vec![(all <= self.room).then_some((0, count))];
        found
    }

    /// Brings all hits if more were found than came.
    ///
    /// # Errors
    /// As of [`AllHits::bring`].
    pub fn bring(self, gpu: &Gpu, slot: &mut Slot, hits: &str, found: &mut Found) -> Result<(), GpuError> {
        if found.words.len() / 2 < found.count(0) {
            return AllHits { queries: 1, room: self.room }.bring(gpu, slot, hits, found);
        }
        Ok(())
    }
}

/// The hits of a batch as they come to the host from the kernel `gather`: four words a query (how many hits it had, how
/// many of them come, where, and its threshold), [`Head::WORDS`] words, and the hits of all queries, pairs (docID,
/// score).
#[derive(Clone, Copy, Debug)]
pub struct GatheredHits {
    /// Number of queries.
    pub queries: usize,
    /// All queries together send at most so many hits.
    pub most: u32,
    /// A query that is a batch of its own sends at most so many hits.
    pub alone: u32,
    /// A query had room for so many hits.
    pub room: u32,
}

impl GatheredHits {
    /// Words before the head.
    pub fn words_of_queries(self) -> usize {
        4 * self.queries
    }

    /// All words.
    pub fn words(self) -> usize {
        self.words_of_queries() + Head::WORDS as usize + 2 * self.most as usize
    }

    /// Reads them.
    pub fn read(self, words: &[u32]) -> Found {
        let head = self.words_of_queries();
        let rows = || words[..head.min(words.len())].chunks_exact(4);
        let sent = rows().map(|row| row[2].saturating_add(row[1])).max().unwrap_or(0).min(self.most) as usize;
        let hits = head + Head::WORDS as usize;
        let hits = words.get(hits..hits + 2 * sent).unwrap_or_default().to_vec();
        let place = |row: &[u32]| {
            let (start, count) = (row[2] as usize, row[1] as usize);
            (row[0] <= self.room && start <= sent && count <= sent - start).then_some((start, count))
        };
        // with as many hits of one score, to know the score is no help
        let least = rows().map(|row| if row[1] <= self.alone { row[3] } else { 0 }).collect();
        Found { ranked: true, places: rows().map(place).collect(), least, words: hits, ..Found::default() }
    }
}

impl Found {
    /// Puts what was found for each query to its place. `order` says for each row the place of its query in the batch.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        let mut places = vec![None; self.places.len()];
        let mut least = vec![0; self.least.len()];
        for (row, &place) in order.iter().enumerate() {
            if let (Some(to), Some(from)) = (places.get_mut(place), self.places.get(row)) {
                *to = *from;
            }
            if let (Some(to), Some(from)) = (least.get_mut(place), self.least.get(row)) {
                *to = *from;
            }
        }
        (self.places, self.least) = (places, least);
    }

    /// A score that as many documents of a query as are wanted reach, if the device knew one.
    pub(super) fn least(&self, query: usize) -> Option<u32> {
        self.least.get(query).copied().filter(|&least| least > 0)
    }

    /// Words of a result.
    pub(super) fn stride(&self) -> usize {
        if self.ranked { 2 } else { 1 }
    }

    /// How many results a query has here.
    pub(super) fn count(&self, query: usize) -> usize {
        self.places.get(query).copied().flatten().map_or(0, |(_, count)| count)
    }

    /// The docIDs and scores of a query's results. Without ranking these are all results, with scores of 0. With
    /// ranking these are the best and perhaps some more, in no order. `None` if the CPU has to answer the query.
    pub fn pairs(&self, query: usize) -> Option<impl Iterator<Item = (u32, u32)>> {
        let (first, count) = self.places.get(query).copied().flatten()?;
        let stride = self.stride();
        let words = self.words.get(stride * first..stride * (first + count)).unwrap_or_default();
        Some(words.chunks_exact(stride).map(|pair| (pair[0], pair.get(1).copied().unwrap_or(0))))
    }

    /// The `k` best hits of a query, best first. Scores are multiplied with `unit`, a power of two, after `bias` was
    /// taken from them; `places` as
    /// [`crate::index::Index::input_places`]. `None` if the CPU has to answer the query.
    pub fn best(&self, query: usize, unit: f32, bias: u32, k: usize, places: Option<&[u32]>) -> Option<Vec<Hit>> {
        let mut hits: Vec<(u32, u32)> = self.pairs(query)?.collect();
        let key = |&(doc, score): &(u32, u32)| (std::cmp::Reverse(score), place_of(places, doc));
        if hits.len() > k && k > 0 {
            hits.select_nth_unstable_by_key(k - 1, key);
        }
        hits.truncate(k);
        hits.sort_unstable_by_key(key);
        // both are below 2^24
        let score = |score: u32| (score as f32 - bias as f32) * unit;
        Some(hits.into_iter().map(|(doc, word)| Hit { doc, score: score(word) }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_gathered_hits() {
        let hits = GatheredHits { queries: 5, most: 3, alone: 5, room: 10 };
        // two of two hits; none; more than room; no place for the fourth; and none for six, which never have it
        let rows = [2u32, 2, 0, 5, 0, 0, 2, 0, 11, 0, 2, 7, 1, 1, 3, 9, 6, 6, 4, 8];
        let mut words = rows.to_vec();
        words.extend([0; Head::WORDS as usize]);
        words.extend([30, 6, 31, 5, 0, 0]);
        assert_eq!(words.len(), hits.words());
        let found = hits.read(&words);
        assert_eq!(found.pairs(0).unwrap().collect::<Vec<_>>(), [(30, 6), (31, 5)]);
        assert_eq!(found.pairs(1).unwrap().count(), 0);
        assert!(found.pairs(2).is_none() && found.pairs(3).is_none() && found.pairs(4).is_none());
        assert_eq!([0, 1, 2, 3, 4].map(|query| found.least(query)), [Some(5), None, Some(7), Some(9), None]);
        assert!(hits.read(&words[..3]).places.is_empty(), "a device that sent nothing");
    }

    #[test]
    fn test_first_hits() {
        let hits = FirstHits { most: 3, room: 5 };
        let read = |all: u32| {
            let mut words = vec![0; Head::WORDS as usize];
            words.extend([7, all, 30, 6, 31, 7, 32, 9]);
            assert_eq!(words.len(), hits.words());
            hits.read(&words)
        };
        let found = read(3);
        assert_eq!(found.pairs(0).unwrap().collect::<Vec<_>>(), [(31, 7), (32, 9)], "those that reach 7");
        // the third one did not count, whatever its words are
        assert_eq!(read(2).pairs(0).unwrap().collect::<Vec<_>>(), [(31, 7)]);
        let more = read(5);
        assert_eq!((more.count(0), more.words.len()), (5, 0), "all five are still to come");
        let lost = read(6);
        assert_eq!((lost.count(0), lost.least(0)), (0, Some(7)), "more than room");
        assert!(lost.pairs(0).is_none());
        assert!(hits.read(&[]).places.is_empty(), "a device that sent nothing");
    }

    #[test]
    fn test_what_was_found_goes_to_its_place() {
        let places = vec![Some((0, 1)), None, Some((1, 2))];
        let mut found = Found { ranked: true, places, least: vec![5, 6, 7], ..Found::default() };
        found.reorder(&[2, 0, 1]);
        assert_eq!((found.places, found.least), (vec![None, Some((1, 2)), Some((0, 1))], vec![6, 7, 5]));
        let mut none = Found::default();
        none.reorder(&[1, 0]);
        assert!(none.places.is_empty(), "a device that sent nothing");
    }

    #[test]
    fn test_rows_of_the_best() {
        let rows = BestRows { queries: 3, most: 2, room: 10 };
        // in the order of rows: query 1 with two hits, query 0 with more than it sent, query 2 with more than room
        let words = [2u32, 2, 7, 50, 3, 60, 9, 3, 1, 1, 2, 2, 11, 2, 4, 4, 5, 5];
        assert_eq!(rows.words(), words.len());
        let found = rows.read(&words, [1, 0, 2].into_iter());
        assert_eq!(found.pairs(1).unwrap().collect::<Vec<_>>(), [(7, 50), (3, 60)]);
        assert!(found.pairs(0).is_none() && found.pairs(2).is_none() && found.pairs(3).is_none());
        let best =
            |k| found.best(1, 0.5, 20, k, None).unwrap().iter().map(|hit| (hit.doc, hit.score)).collect::<Vec<_>>();
        assert_eq!(best(5), [(3, 20.0), (7, 15.0)]);
        assert_eq!((best(1), best(0)), (vec![(3, 20.0)], vec![]));
    }
}
