//! What a device did.

use super::found::Found;
use super::ranges::kernels::WAVES;
use std::time::Duration;

/// What the device did range by range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Ranges of docIDs that were queued in each wave.
    pub queued: [u32; WAVES as usize],
    /// Ranges that were evaluated. The others were skipped: when their turn came, the threshold had passed their bound.
    pub evaluated: u32,
}

/// How the memory for lists has been used. A list of one posting stands in the dictionary and does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Lists that were there when a query asked for them.
    pub hits: u64,
    /// Lists that had to be brought.
    pub misses: u64,
    /// Words brought.
    pub words: u64,
    /// Lists that were dropped to make room, each with its table.
    pub evicted: u64,
    /// Time that the host spent on looking through lists and copying them. The device may compute meanwhile.
    pub spent: Duration,
}

impl Use {
    /// Lists that queries asked for.
    pub fn asked(&self) -> u64 {
        self.hits + self.misses
    }

    /// How many of the lists that queries asked for were there, 0 to 1; `None` if they asked for none.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.asked() > 0).then(|| self.hits as f64 / self.asked() as f64)
    }

    /// Bytes brought.
    pub fn bytes(&self) -> u64 {
        4 * self.words
    }

    /// The use since the counts were `before`.
    pub fn since(&self, before: &Self) -> Self {
        let Self { hits, misses, words, evicted, spent } = *before;
        Self {
            hits: self.hits - hits,
            misses: self.misses - misses,
            words: self.words - words,
            evicted: self.evicted - evicted,
            spent: self.spent - spent,
        }
    }

    /// Adds another use.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.words += other.words;
        self.evicted += other.evicted;
        self.spent += other.spent;
    }
}

/// What a device did for the queries of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Number of batches.
    pub batches: usize,
    /// Queries that the CPU had to answer, because their lists, hits or terms do not fit, or because ranges and
    /// accumulators take no negative weights.
    pub by_cpu: usize,
    /// Blocks decoded whole. Some methods do not count them.
    pub decoded: u64,
    /// The work that was done range by range, if there was any.
    pub ranges: Option<Work>,
    /// Seconds of each pass, over all batches, if they were timed. Passes come in the order of their first run.
    pub passes: Vec<(&'static str, f64)>,
    /// How the memory for lists was used.
    pub lists: Use,
}

impl Report {
    /// Adds the work for a batch.
    pub(super) fn add(&mut self, found: &Found) {
        self.batches += 1;
        self.add_work(found.decoded, found.ranges, &found.passes);
    }

    /// Adds the work for other queries.
    pub fn merge(&mut self, other: &Self) {
        self.batches += other.batches;
        self.by_cpu += other.by_cpu;
        self.lists.add(&other.lists);
        self.add_work(other.decoded, other.ranges, &other.passes);
    }

    /// Adds the seconds of passes.
    pub(super) fn add_passes(&mut self, passes: &[(&'static str, f64)]) {
        self.add_work(0, None, passes);
    }

    fn add_work(&mut self, decoded: u64, ranges: Option<Work>, passes: &[(&'static str, f64)]) {
        self.decoded += decoded;
        if let Some(work) = ranges {
            let sum = self.ranges.get_or_insert_default();
            sum.queued.iter_mut().zip(work.queued).for_each(|(sum, queued)| *sum = sum.saturating_add(queued));
            sum.evaluated = sum.evaluated.saturating_add(work.evaluated);
        }
        for &(name, seconds) in passes {
            match self.passes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += seconds,
                None => self.passes.push((name, seconds)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_reports_add_up() {
        let lists = Use { hits: 3, misses: 1, words: 100, evicted: 2, spent: Duration::from_millis(30) };
        let passes = vec![("a", 1.0), ("b", 2.0)];
        let mut report = Report { batches: 1, by_cpu: 1, passes, lists, ..Report::default() };
        let work = |evaluated| Some(Work { queued: [1, 2, 0, 0], evaluated });
        report.add(&Found { decoded: 5, ranges: work(3), passes: vec![("b", 0.5), ("b", 0.5)], ..Found::default() });
        report.merge(&Report { batches: 2, decoded: 1, ranges: work(4), ..report.clone() });
        assert_eq!((report.batches, report.by_cpu, report.decoded), (4, 2, 6));
        assert_eq!(report.ranges, Some(Work { queued: [2, 4, 0, 0], evaluated: 7 }));
        assert_eq!(report.passes, [("a", 2.0), ("b", 6.0)]);
        assert_eq!(report.lists, Use { hits: 6, misses: 2, words: 200, evicted: 4, spent: Duration::from_millis(60) });
        assert_eq!(report.lists.since(&lists), lists);
        assert_eq!((report.lists.hit_rate(), report.lists.bytes()), (Some(0.75), 800));
        assert_eq!(Use::default().hit_rate(), None);
    }
}
