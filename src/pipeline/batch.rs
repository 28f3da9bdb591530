//! A worker's output, and how it is made: a piece of input → documents → counted terms.

use std::sync::Arc;
use std::time::Instant;

use super::dictionary::Dictionary;
use super::links::{BatchLinks, Collector};
use super::numbers::{Numbers, Published};
use super::plan::MemoryPlan;
use super::skipped::Skips;
use super::terms::{LocalPosting, LocalTerms, NewTerms};
use crate::base::memory::memory_in_use;
use crate::corpus::{
    self, Content, Doc, DocSink, FieldsFound, MemberCounts, Piece, PieceEnd, PieceReader, Redirect, Skip, SkipKind,
};
use crate::text::{Analyzer, Extracted, Extractor, MAX_TERM_BYTES, TermSink};

/// A document of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchDoc {
    /// One past its last posting in [`Batch::postings`].
    pub postings_end: u32,
    /// Its length in tokens.
    pub len: u32,
    /// One past the last byte of its id, URL and title in [`Batch::names`].
    pub name_ends: [u32; 3],
}

/// What of its documents an index stores besides their ids.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// URLs.
    pub urls: bool,
    /// Titles.
    pub titles: bool,
    /// Texts.
    pub texts: bool,
    /// Weights of terms as frequencies: documents are such, not texts.
    pub weights: bool,
}

/// Counts of a batch, for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BatchCounts {
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes inflated.
    pub inflated_bytes: u64,
    /// Gzip members.
    #[serde(default)]
    pub members: MemberCounts,
    /// Bytes of document bodies (HTML for a crawl).
    pub body_bytes: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Tokens.
    pub tokens: u64,
    /// Weights of terms.
    #[serde(default)]
    pub weights: WeightCounts,
    /// Which of the fields that the options name had a text.
    #[serde(default)]
    pub fields: FieldsFound,
}

/// What became of the weights of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WeightCounts {
    /// Weights above 0 that were rounded to 0, and so are not in the index.
    pub lost: u64,
    /// The greatest, scaled and rounded.
    pub greatest: u8,
}

impl std::ops::AddAssign for WeightCounts {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.greatest = self.greatest.max(other.greatest);
    }
}

/// Everything a worker found in one piece.
#[derive(Default)]
pub struct Batch {
    /// The worker, whose local term numbers these are.
    pub worker: usize,
    /// True if the worker emptied its dictionary before this batch.
    pub reset: bool,
    /// Terms whose local numbers follow those of the worker's earlier batches.
    pub new_terms: NewTerms,
    /// Documents, in order.
    pub docs: Vec<BatchDoc>,
    /// Postings of all documents, in order of first occurrence within a document.
    pub postings: Vec<LocalPosting>,
    /// Ids, URLs and titles of all documents.
    pub names: String,
    /// Texts of all documents, if they are stored, and one past the last byte of each.
    pub texts: String,
    /// See `texts`.
    pub text_ends: Vec<usize>,
    /// Links of all documents, if they are followed.
    pub links: BatchLinks,
    /// Records that are not documents, and damage.
    pub skips: Skips,
    /// Counts.
    pub counts: BatchCounts,
    /// Words dropped for being longer than [`crate::text::MAX_TERM_BYTES`].
    pub long_words: u64,
    /// The first document that a long word was dropped from: its offset and id.
    pub first_long_word: Option<(u64, String)>,
    /// Bytes that the process would need for the largest document, where the budget has fewer.
    pub beyond_budget: Option<u64>,
    /// When the worker began and ended, for the timeline.
    pub span: Option<(Instant, Instant)>,
}

impl Batch {
    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.new_terms.memory()
            + self.docs.capacity() * size_of::<BatchDoc>()
            + self.postings.capacity() * size_of::<LocalPosting>()
            + self.names.capacity()
            + self.texts.capacity()
            + self.text_ends.capacity() * size_of::<usize>()
            + self.links.memory()
    }

    fn clear(&mut self) {
        self.new_terms.clear();
        self.docs.clear();
        self.postings.clear();
        self.names.clear();
        self.texts.clear();
        self.text_ends.clear();
        self.links.clear();
        self.skips.clear();
        self.counts = BatchCounts::default();
        self.long_words = 0;
        self.first_long_word = None;
        self.beyond_budget = None;
        self.reset = false;
        self.span = None;
    }

    /// Appends the text of the next document: what was analysed.
    fn push_text(&mut self, title: &str, text: &str) {
        if !title.is_empty() {
            self.texts.push_str(title);
            self.texts.push('\n');
        }
        self.texts.push_str(text);
        self.text_ends.push(self.texts.len());
    }

    /// The texts, in the order of the documents; none if they are not stored.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.text_ends.iter().map(move |&end| &self.texts[std::mem::replace(&mut start, end)..end])
    }

    /// Id, URL and title of document `i`.
    pub fn name(&self, i: usize) -> [&str; 3] {
        let [id, url, title] = self.docs[i].name_ends.map(|e| e as usize);
        let start = if i == 0 { 0 } else { self.docs[i - 1].name_ends[2] as usize };
        [&self.names[start..id], &self.names[id..url], &self.names[url..title]]
    }
}

/// A worker's tools, kept between pieces.
pub struct Worker {
    number: usize,
    reader: PieceReader,
    parser: Parser,
    /// How often it has forgotten its terms.
    resets: u32,
    /// The build's dictionary as it was.
    dictionary: Option<Arc<Dictionary>>,
}

/// What turns a document into postings; apart from the reader, which calls it.
struct Parser {
    extractor: Extractor,
    analyzer: Analyzer,
    terms: LocalTerms,
    stored: Stored,
    /// The weights of a document.
    weights: Vec<u8>,
    links: Option<Collector>,
    batch: Batch,
    plan: MemoryPlan,
}

impl Worker {
    /// Links are followed if `extractor` keeps them.
    pub fn new(
        number: usize,
        reader: PieceReader,
        extractor: Extractor,
        analyzer: Analyzer,
        plan: &MemoryPlan,
        stored: Stored,
    ) -> Self {
        let terms = LocalTerms::new(plan.local_terms);
        let links = extractor.keeps_links().then(Collector::default);
        let (weights, batch) = (Vec::new(), Batch::default());
        let parser = Parser { extractor, analyzer, terms, stored, weights, links, batch, plan: *plan };
        Self { number, reader, parser, resets: 0, dictionary: None }
    }

    /// Learns the termIDs that have come from the sequencer, and where to look for others.
    pub fn learn(&mut self, numbers: &Numbers, published: &Published) {
        self.dictionary = published.last();
        let parts = numbers.take(self.resets);
        // else it is about to forget them: they may be those of an enormous document
        if !self.parser.terms.is_full() {
            parts.iter().for_each(|(first, ids)| self.parser.terms.learn(*first, ids));
        }
    }

    /// The worker's number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Reads a piece into `batch`, whose memory is used again; see [`Piece::free`] for the piece's.
    pub fn read(&mut self, piece: &Piece, mut batch: Batch) -> (Batch, PieceEnd) {
        let began = Instant::now();
        batch.clear();
        batch.worker = self.number;
        if self.parser.terms.is_full() {
            self.parser.terms.reset();
            self.resets += 1;
            batch.reset = true;
        }
        self.parser.batch = batch;
        let end = self.reader.read(piece, &mut self.parser);
        let mut batch = std::mem::take(&mut self.parser.batch);
        if let Some(dictionary) = &self.dictionary
            && batch.new_terms.len() <= LOOKED_UP
        {
            dictionary.find_all(&mut batch.new_terms);
        }
        batch.counts.disk_bytes = piece.disk_bytes();
        batch.counts.inflated_bytes = self.reader.bytes_inflated();
        batch.counts.members = self.reader.members();
        batch.counts.fields = self.reader.fields();
        batch.span = Some((began, Instant::now()));
        (batch, end)
    }
}

/// Counts the terms of one document.
struct Counter<'a> {
    terms: &'a mut LocalTerms,
    postings: &'a mut Vec<LocalPosting>,
    new_terms: &'a mut NewTerms,
    len: u32,
}

impl TermSink for Counter<'_> {
    #[inline]
    fn term(&mut self, term: &[u8]) {
        self.terms.count(term, self.postings, self.new_terms);
        self.len += 1;
    }

    #[inline]
    fn padded_term(&mut self, padded: &[u8], len: usize) {
        self.terms.count_padded(padded, len, self.postings, self.new_terms);
        self.len += 1;
    }
}

const _: () = assert!(MAX_TERM_BYTES == u8::MAX as usize, "a body of weights has the lengths of its terms in bytes");

/// The new terms of a batch with more of them, as that of an enormous document, are left to the sequencer to look up.
const LOOKED_UP: usize = 1 << 17;

/// Buffers that a larger document left are given back at once.
const GIVE_BACK: usize = 8 << 20;

/// Set aside for the terms of an enormous document, which nobody can foresee: as many as most languages have.
const TERMS: u64 = 16 << 20;

/// By so much may what a process holds differ from one run to the next.
const NOISE: u64 = 3 << 20;

impl Parser {
    /// True if so many bytes fit the budget beside everything else. If not, the build has to end: an index without the
    /// document would depend on the budget.
    fn affords(&mut self, bytes: u64) -> bool {
        let needed = memory_in_use() + bytes;
        if needed > self.plan.budget {
            self.beyond(needed);
            return false;
        }
        true
    }

    /// Notes that so many bytes are needed.
    fn beyond(&mut self, needed: u64) {
        self.batch.beyond_budget = self.batch.beyond_budget.max(Some(needed + NOISE));
    }
}

impl DocSink for Parser {
    fn doc(&mut self, doc: &Doc<'_>) {
        let weighted = doc.content == Content::Weights;
        if self.stored.weights && !weighted {
            let detail = "it is a text, and weights of terms are wanted: only JSON has such".to_owned();
            return self.skip(Skip { kind: SkipKind::MissingField, offset: doc.offset, detail });
        }
        let body_bytes = doc.body.len();
        // kept as names, and a title is split into words as a text is; a WARC record's id is its URL
        let url_bytes = if doc.url == doc.id { 0 } else { doc.url.len() };
        let name_bytes = doc.id.len() + url_bytes + doc.title.len();
        let enormous = body_bytes + name_bytes > self.plan.solo_bytes;
        if enormous {
            // a hash of each term, and its weight
            let room = if weighted { 3 * body_bytes as u64 } else { Extractor::room_for(doc) };
            // The text is a part of that, or of the document as it is.
            let copy = if self.stored.texts { room.max(body_bytes as u64) + doc.title.len() as u64 } else { 0 };
            if !self.affords(room + copy + name_bytes as u64 + TERMS) {
                return;
            }
            self.terms.guard(self.plan.budget);
        }
        let batch = &mut self.batch;
        let found = if weighted { Extracted::default() } else { self.extractor.extract(doc) };
        self.terms.begin_document();
        let (first_new, first_posting) = (batch.new_terms.len(), batch.postings.len());
        let mut counter =
            Counter { terms: &mut self.terms, postings: &mut batch.postings, new_terms: &mut batch.new_terms, len: 0 };
        let mut long_words = 0;
        self.weights.clear();
        if weighted {
            for (term, weight) in corpus::terms(doc.body) {
                let counts = &mut batch.counts.weights;
                *counts += WeightCounts { lost: u64::from(weight == 0), greatest: weight };
                if term.is_empty() {
                    long_words += u64::from(weight > 0);
                    continue;
                }
                counter.term(term);
                self.weights.push(weight);
            }
        } else {
            if !doc.title.is_empty() {
                long_words += self.analyzer.analyze(doc.title, &mut counter);
            }
            long_words += self.analyzer.analyze(found.text, &mut counter);
        }
        let mut len = counter.len;
        self.terms.end_document(&mut batch.postings, &mut batch.new_terms);
        // Each term of weights comes once, so that its posting is where it came; unless memory ran out, which ends the
        // build.
        let own = &mut batch.postings[first_posting..];
        if own.len() == self.weights.len() {
            for (posting, &weight) in own.iter_mut().zip(&self.weights) {
                *posting += u64::from(weight) - 1;
                len += u32::from(weight) - 1;
            }
        }
        batch.new_terms.end_document(first_new);
        let title = if doc.title.is_empty() { found.title } else { doc.title };
        let mut name_ends = [0; 3];
        for (end, (keep, name)) in
            name_ends.iter_mut().zip([(true, doc.id), (self.stored.urls, doc.url), (self.stored.titles, title)])
        {
            // The id often is the URL; it is then stored once, as the id.
            if keep {
                batch.names.push_str(name);
            }
            *end = batch.names.len() as u32;
        }
        if self.stored.texts {
            if enormous {
                batch.texts.reserve_exact(doc.title.len() + 1 + found.text.len());
            }
            batch.push_text(doc.title, found.text);
        }
        if let Some(links) = &mut self.links {
            links.page(doc.url, found.links, &mut batch.links);
        }
        batch.counts.body_bytes += body_bytes as u64;
        batch.counts.text_bytes += found.text.len() as u64;
        batch.counts.tokens += u64::from(len);
        batch.long_words += long_words;
        if long_words > 0 && batch.first_long_word.is_none() {
            batch.first_long_word = Some((doc.offset, doc.id.to_owned()));
        }
        batch.docs.push(BatchDoc { postings_end: batch.postings.len() as u32, len, name_ends });
        if enormous {
            // Its terms may have taken more than was foreseen.
            match self.terms.unguard() {
                Some(needed) => self.beyond(needed),
                None => _ = self.affords(0),
            }
        }
        if enormous || body_bytes + name_bytes > GIVE_BACK {
            self.weights = Vec::new();
            self.extractor.shrink();
        }
    }

    fn skip(&mut self, skip: Skip) {
        self.batch.skips.add(skip);
    }

    fn redirect(&mut self, redirect: &Redirect<'_>) {
        if let Some(links) = &mut self.links {
            links.redirect(redirect.url, redirect.location, &mut self.batch.links);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Content;
    use crate::pipeline::plan::RING;
    use crate::text::{AnalyzerSpec, Keep};

    #[test]
    fn a_document_that_the_budget_cannot_hold_is_told_and_not_left_out_silently() {
        let doc = |title, body: &'static str| Doc {
            id: "1",
            url: "",
            title,
            body: body.as_bytes(),
            content: Content::Text,
            charset: None,
            offset: 0,
        };
        let spec = AnalyzerSpec::named("simple");
        let mut plan = MemoryPlan::new(512 << 20, 1, RING, 0, false).unwrap();
        plan.solo_bytes = 10;
        // with the id, of one byte
        for (budget, title, body, docs, told) in [
            (1, "", "nine byte", 1, false),
            (1, "", "ten bytes.", 0, true),
            (1, "ten bytes.", "", 0, true),
            (1, "five.", "five.", 0, true),
            (u64::MAX, "", "eleven byte", 1, false),
        ] {
            plan.budget = budget;
            let mut parser = Parser {
                extractor: Extractor::new(Keep::default()),
                analyzer: Analyzer::new(&spec).unwrap(),
                terms: LocalTerms::new(1 << 12),
                stored: Stored { urls: true, titles: true, texts: false, weights: false },
                weights: Vec::new(),
                links: None,
                batch: Batch::default(),
                plan,
            };
            parser.doc(&doc(title, body));
            assert_eq!((parser.batch.docs.len(), parser.batch.beyond_budget.is_some()), (docs, told), "{title}{body}");
        }
    }
}
