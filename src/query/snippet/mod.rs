//! The passage of a text that fits a query best, with the query's words marked.
//!
//! | file | its one job |
//! |---|---|
//! | `units` | a text → sentences, and parts of long ones |
//! | `choose` | which of them are the best passage |
//! | `clean` | white space and control characters of a passage |
//! | `stored` | snippets of the texts that an index stores |
//!
//! A passage is some consecutive units, [`WIDTH`] columns wide together. Its score is BM25's: the sum over the query's
//! terms of `weight · idf · tf / (tf + K)`, with the passage as the document and its width as the length. Words are
//! matched by the analyzer of the index, so what is marked is what was found. Text stays in its logical order: a
//! terminal or a browser writes Arabic and Hebrew from right to left by itself.

mod choose;
mod clean;
mod stored;
mod units;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::text::{Analyzer, AnalyzerSpec, Locator, TermSink};
use choose::Found;
use std::collections::HashMap;
use std::ops::Range;
use units::{Unit, units};

pub(crate) use clean::is_direction;
pub use stored::Snippets;

/// Columns of a passage. A character of Chinese, Japanese or Korean takes two.
pub const WIDTH: usize = 240;

/// A passage of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The passage in one line: white space is one space, and there are no control characters.
    pub text: String,
    /// Bytes of `text` where words of the query stand: whole characters, ascending, not touching each other.
    pub marks: Vec<Range<usize>>,
    /// Whether the text begins with it (or with a title, and then with it).
    pub begins: bool,
    /// Whether the text ends with it.
    pub ends: bool,
}

impl Snippet {
    /// The passage in pieces, and whether each is a word of the query.
    pub fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut at = 0;
        let marked = self.marks.iter().flat_map(move |mark| {
            let before = std::mem::replace(&mut at, mark.end)..mark.start;
            [(&self.text[before], false), (&self.text[mark.clone()], true)]
        });
        let rest = self.marks.last().map_or(0, |mark| mark.end);
        marked.chain([(&self.text[rest..], false)]).filter(|(piece, _)| !piece.is_empty())
    }

    /// The marks in characters (code points) of the text.
    pub fn marks_in_chars(&self) -> Vec<[usize; 2]> {
        let (mut chars, mut at) = (0, 0);
        let mut count = |to: usize| {
            chars += self.text[std::mem::replace(&mut at, to)..to].chars().count();
            chars
        };
        self.marks.iter().map(|mark| [count(mark.start), count(mark.end)]).collect()
    }
}

/// The terms of a query and their weights, ready to be looked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    numbers: HashMap<Box<[u8]>, u32>,
    weights: Vec<f32>,
    /// A bit for each [`slot`] that has a term: most words are none of the query's.
    slots: [u64; 16],
}

/// A number below 1,024 for a word, from three of its bytes and its length.
fn slot(term: &[u8]) -> usize {
    let byte = |at: usize| usize::from(term.get(at).copied().unwrap_or(0));
    let last = byte(term.len().wrapping_sub(1));
    (byte(0) * 7 + byte(1) * 31 + last * 3 + term.len() * 101) & 1023
}

impl Wanted {
    /// Terms with weights times idf. Those that are not above 0 are left out: they say what a document should not have.
    pub fn new<'a>(terms: impl IntoIterator<Item = (&'a str, f32)>) -> Self {
        let mut wanted = Self::default();
        for (term, weight) in terms.into_iter().filter(|(_, weight)| *weight > 0.0) {
            let slot = slot(term.as_bytes());
            wanted.slots[slot / 64] |= 1 << (slot % 64);
            wanted.numbers.insert(term.as_bytes().into(), wanted.weights.len() as u32);
            wanted.weights.push(weight);
        }
        wanted
    }

    /// The number of a term.
    fn number(&self, term: &[u8]) -> Option<u32> {
        let slot = slot(term);
        if self.slots[slot / 64] >> (slot % 64) & 1 == 0 {
            return None;
        }
        self.numbers.get(term).copied()
    }
}

/// Notes the query's terms in a unit.
struct Finder<'a> {
    wanted: &'a Wanted,
    unit: u32,
    found: &'a mut Vec<Found>,
}

impl TermSink for Finder<'_> {
    fn term(&mut self, term: &[u8]) {
        if let Some(number) = self.wanted.number(term) {
            self.found.push((self.unit, number));
        }
    }
}

/// Finds passages, in texts analysed by one analyzer. One per thread.
pub struct Snippeter {
    analyzer: Analyzer,
    locator: Locator,
    units: Vec<Unit>,
    found: Vec<Found>,
}

impl Snippeter {
    /// For texts that this analyzer analysed.
    ///
    /// # Errors
    /// As [`Analyzer::new`] and [`Locator::new`].
    pub fn new(spec: &AnalyzerSpec) -> Result<Self> {
        let (analyzer, locator) = (Analyzer::new(spec)?, Locator::new(spec)?);
        Ok(Self { analyzer, locator, units: Vec::new(), found: Vec::new() })
    }

    /// The best passage of `text`, at most `width` columns wide (unless a single character is wider). If the text
    /// begins with `title`, which a reader sees anyway, the passage comes from behind it. A text without any of the
    /// terms gives its beginning.
    pub fn snippet(&mut self, text: &str, title: &str, wanted: &Wanted, width: usize) -> Snippet {
        let width = width.max(2);
        let behind = clean::behind_title(text, title);
        let Self { analyzer, units: all, found, .. } = self;
        all.clear();
        found.clear();
        // Half the width, so that no passage has less than half unless the text ends.
        for unit in units(text, behind, width / 2) {
            let mut finder = Finder { wanted, unit: all.len() as u32, found: &mut *found };
            analyzer.analyze(&text[unit.bytes.clone()], &mut finder);
            all.push(unit);
        }
        let chosen = choose::best(all, found, &wanted.weights, width, 0);
        let passage = match chosen {
            Some(passage) => choose::rounded(passage, all, found, width),
            None => start(all, width),
        };
        let (begins, ends) = (passage.start == 0, passage.end == all.len());
        let bytes = match all.get(passage.clone()) {
            Some([first, .., last]) => first.bytes.start..last.bytes.end,
            Some([only]) => only.bytes.clone(),
            _ => behind..behind,
        };
        let marks = self.marks(&text[bytes.clone()], wanted);
        let (text, marks) = clean::clean(&text[bytes], &marks);
        Snippet { text, marks, begins, ends }
    }

    /// Where the query's terms stand in a passage.
    fn marks(&mut self, passage: &str, wanted: &Wanted) -> Vec<Range<usize>> {
        let mut marks: Vec<Range<usize>> = Vec::new();
        self.locator.each(passage, |term, place| {
            if place.is_empty() || wanted.number(term.as_bytes()).is_none() {
                return;
            }
            match marks.last_mut() {
                // Pairs of characters overlap.
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                _ => marks.push(place),
            }
        });
        marks
    }
}

/// The units at the start of a text that fit.
fn start(units: &[Unit], width: usize) -> Range<usize> {
    let mut columns = 0;
    let fits = units.iter().take_while(|unit| {
        columns += unit.width;
        columns <= width
    });
    0..fits.count().max(usize::from(!units.is_empty()))
}
