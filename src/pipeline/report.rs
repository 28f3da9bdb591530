//! The build report: what happened, for a person and for a machine.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::batch::{Batch, WeightCounts};
use super::links::LinkReport;
use super::options::Pipeline;
use super::plan::MemoryPlan;
use super::skipped::Skipped;
pub use super::summary::count;
use crate::corpus::MemberCounts;
use crate::index::TextSizes;
use crate::sort::SortTimes;

/// A stretch of work of one lane, in seconds since the build began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Which thread or device.
    pub lane: Lane,
    /// Begin.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// A row of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A worker in the parse phase.
    Parse(usize),
    /// A GPU that inflates.
    Inflate,
    /// The sequencer.
    Sequence,
    /// The sorter; on a GPU when the build used one.
    Sort,
    /// Writing runs.
    Spill,
    /// Document table.
    Documents,
    /// Links to documents, ranks.
    Rank,
    /// A worker in the merge phase.
    Merge(usize),
    /// Dictionary: sorting terms, building the FST.
    Terms,
    /// Writing lists, then checksums and publication.
    Write,
}

impl Lane {
    /// The stage that the lane belongs to, as the report names it.
    pub fn stage(self) -> &'static str {
        match self {
            Self::Parse(_) => "parse",
            Self::Inflate => "inflate",
            Self::Sequence => "sequence",
            Self::Sort => "sort",
            Self::Spill => "spill",
            Self::Documents => "documents",
            Self::Rank => "rank",
            Self::Merge(_) => "merge",
            Self::Terms => "terms",
            Self::Write => "write",
        }
    }
}

/// Collects spans from all threads.
pub struct Clock {
    began: Instant,
    spans: Mutex<Vec<Span>>,
}

/// Neighbouring spans of a lane that are closer than this are drawn as one, seconds.
const GAP: f64 = 0.002;

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self { began: Instant::now(), spans: Mutex::default() }
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Records that `lane` worked from `from` until now.
    pub fn record(&self, lane: Lane, from: Instant) {
        self.record_span(lane, from, Instant::now());
    }

    /// Records a span.
    pub fn record_span(&self, lane: Lane, from: Instant, to: Instant) {
        let seconds = |t: Instant| t.saturating_duration_since(self.began).as_secs_f64();
        if let Ok(mut spans) = self.spans.lock() {
            spans.push(Span { lane, from: seconds(from), to: seconds(to) });
        }
    }

    /// All spans, by lane, in order of time.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = self.spans.lock().map(|s| s.clone()).unwrap_or_default();
        spans.sort_by(|a, b| a.lane.cmp(&b.lane).then(a.from.total_cmp(&b.from)));
        spans
    }
}

/// Joins neighbouring spans for drawing.
pub fn coalesce(spans: &[Span]) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for &span in spans {
        match out.last_mut() {
            Some(last) if last.lane == span.lane && span.from - last.to < GAP => last.to = span.to,
            _ => out.push(span),
        }
    }
    out
}

/// One stage's time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StageTime {
    /// Threads (or devices) of the stage.
    pub lanes: usize,
    /// Sum over lanes of the time at work.
    pub busy: f64,
    /// Sum over lanes of the time between a lane's first and last work at which it had none.
    pub waiting: f64,
    /// First begin to last end.
    pub wall: f64,
}

/// Sums spans by stage.
pub fn stage_times(spans: &[Span]) -> BTreeMap<String, StageTime> {
    let mut lanes: BTreeMap<Lane, (f64, f64, f64)> = BTreeMap::new();
    for span in spans {
        let entry = lanes.entry(span.lane).or_insert((span.from, span.to, 0.0));
        entry.0 = entry.0.min(span.from);
        entry.1 = entry.1.max(span.to);
        entry.2 += span.to - span.from;
    }
    let mut stages: BTreeMap<String, (StageTime, f64, f64)> = BTreeMap::new();
    for (lane, (from, to, busy)) in lanes {
        let (stage, first, last) =
            stages.entry(lane.stage().into()).or_insert((StageTime::default(), f64::INFINITY, 0.0));
        stage.lanes += 1;
        stage.busy += busy;
        stage.waiting += to - from - busy;
        *first = first.min(from);
        *last = last.max(to);
        stage.wall = *last - *first;
    }
    stages.into_iter().map(|(name, (stage, ..))| (name, stage)).collect()
}

/// How much of the sorter's time passed while workers were still parsing.
pub fn hidden_sort(spans: &[Span]) -> f64 {
    let parse_end = spans.iter().filter(|s| matches!(s.lane, Lane::Parse(_))).fold(0.0, |m: f64, s| m.max(s.to));
    let (mut all, mut hidden) = (0.0, 0.0);
    for span in spans.iter().filter(|s| s.lane == Lane::Sort) {
        all += span.to - span.from;
        hidden += (span.to.min(parse_end) - span.from).max(0.0);
    }
    if all > 0.0 { hidden / all } else { 1.0 }
}

/// Words longer than [`crate::text::MAX_TERM_BYTES`], which are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LongWords {
    /// How many.
    pub count: u64,
    /// Where the first one was.
    pub first: Option<Place>,
}

/// A document of the input.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// The file; what is no UTF-8 in its name is replaced.
    pub file: String,
    /// Byte offset of the record in the file.
    pub offset: u64,
    /// External id.
    pub id: String,
}

impl LongWords {
    /// Adds those of a batch of the file at `path`, in input order.
    pub fn add(&mut self, path: &Path, batch: &Batch) {
        self.count += batch.long_words;
        if self.first.is_none()
            && let Some((offset, id)) = &batch.first_long_word
        {
            self.first = Some(Place { file: path.to_string_lossy().into_owned(), offset: *offset, id: id.clone() });
        }
    }
}

/// An input file, as recorded.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct InputRecord {
    /// Path as found; what is no UTF-8 in it is replaced.
    pub path: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Format, by content.
    pub format: String,
    /// Compression, by content.
    pub compression: String,
    /// The bytes that were read, of a file that is cut between parts of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range<u64>>,
}

/// See the module's page. Times are seconds, sizes bytes.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct BuildReport {
    /// gamut's version.
    pub version: String,
    /// Where the index is.
    pub index: String,
    /// Input files in the order in which they were indexed.
    pub inputs: Vec<InputRecord>,
    /// The part of the input that was indexed, such as `3/8`; nothing, if it was all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Bytes on disk of all the input of which that is a part: `gamut merge` knows parts of the same input by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of_bytes: Option<u64>,
    /// How parsing and sorting shared the time.
    pub pipeline: Pipeline,
    /// The sorter that was used.
    pub sorter: String,
    /// The device it ran on.
    pub device: String,
    /// The device's driver and its version; empty for the CPU.
    #[serde(default)]
    pub driver: String,
    /// Where gzip members were inflated.
    #[serde(default)]
    pub inflate: InflateReport,
    /// How memory was divided.
    pub plan: MemoryPlan,
    /// Input bytes on disk.
    pub disk_bytes: u64,
    /// Bytes after decompression.
    pub inflated_bytes: u64,
    /// Bytes of document bodies.
    pub body_bytes: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// The stored texts, if they are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<TextSizes>,
    /// What the process found that ended the build; earlier ones had read the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// Documents.
    pub documents: u64,
    /// Documents whose external id had occurred before.
    pub duplicate_ids: u64,
    /// Tokens.
    pub tokens: u64,
    /// What became of weights, if documents are weights of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightCounts>,
    /// Words that were dropped for their length.
    #[serde(default)]
    pub long_words: LongWords,
    /// Links, if they were followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkReport>,
    /// Distinct terms.
    pub terms: u64,
    /// Postings.
    pub postings: u64,
    /// Sort keys (a posting with tf over 255 takes several).
    pub keys: u64,
    /// Blocks sorted, that is runs merged.
    pub blocks: usize,
    /// Bytes of runs written.
    pub run_bytes: u64,
    /// Bytes of the finished index.
    pub index_bytes: u64,
    /// The whole build.
    pub seconds: f64,
    /// Until the last run was on disk.
    pub parse_seconds: f64,
    /// Merging and encoding.
    pub merge_seconds: f64,
    /// Sync, checksums, publication.
    pub finish_seconds: f64,
    /// What decided the docIDs.
    pub order: String,
    /// Seconds of finding the order and rewriting the index in it.
    pub order_seconds: f64,
    /// Per stage.
    pub stages: BTreeMap<String, StageTime>,
    /// Sorting by part, summed over blocks.
    pub sort_times: SortTimes,
    /// Share of the sorting that passed while workers parsed, 0 to 1.
    pub sort_hidden: f64,
    /// Peak resident memory of the process.
    pub peak_memory: u64,
    /// What went wrong without ending the build (a lost device, say).
    pub warnings: Vec<String>,
    /// Records that did not become documents.
    pub skipped: Skipped,
}

/// Where gzip members were inflated that workers inflate in one go: not those of files that a thread reads ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InflateReport {
    /// The GPU that was asked; empty, if none was.
    pub device: String,
    /// How many members.
    pub members: MemberCounts,
}

/// What a build went on with. Times and sizes of the report that are no index's are of the last process alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Resumed {
    /// Documents that earlier processes had read.
    pub documents: u64,
    /// Bytes of the input that they had read.
    pub disk_bytes: u64,
    /// Bytes of document bodies that they had read.
    pub body_bytes: u64,
    /// Runs that they had spilled.
    pub runs: usize,
}

impl BuildReport {
    /// MB of document bodies a second, end to end; of those that this process read.
    pub fn megabytes_per_second(&self) -> f64 {
        let earlier = self.resumed.map_or(0, |resumed| resumed.body_bytes);
        self.body_bytes.saturating_sub(earlier) as f64 / 1e6 / self.seconds
    }
}

/// The report's file in the index directory.
pub const FILE: &str = "build-report.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn times_add_up_and_hiding_is_measured_against_parsing() {
        let span = |lane, from, to| Span { lane, from, to };
        let spans = [
            span(Lane::Parse(0), 0.0, 4.0),
            span(Lane::Parse(0), 5.0, 10.0),
            span(Lane::Parse(1), 0.0, 8.0),
            span(Lane::Sort, 5.0, 7.0),
            span(Lane::Sort, 9.0, 11.0),
        ];
        let stages = stage_times(&spans);
        assert_eq!(stages["parse"], StageTime { lanes: 2, busy: 17.0, waiting: 1.0, wall: 10.0 });
        assert_eq!(stages["sort"], StageTime { lanes: 1, busy: 4.0, waiting: 2.0, wall: 6.0 });
        assert_eq!(hidden_sort(&spans), 0.75);
    }

    #[test]
    fn close_spans_are_drawn_as_one() {
        let span = |lane, from, to| Span { lane, from, to };
        let spans = [
            span(Lane::Sort, 0.0, 1.0),
            span(Lane::Sort, 1.001, 2.0),
            span(Lane::Sort, 3.0, 4.0),
            span(Lane::Spill, 4.0, 5.0),
        ];
        assert_eq!(coalesce(&spans), [span(Lane::Sort, 0.0, 2.0), spans[2], spans[3]]);
    }
}
