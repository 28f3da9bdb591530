//! Text → terms.

mod class;
mod terms;
mod tokenizers;
mod words;

#[cfg(test)]
mod tests;

#[cfg(feature = "cjk")]
pub use tokenizers::BigramTokenizer;
pub use tokenizers::{
    Cutter, DropLong, Filter, Filtered, FilteredStream, LowerCase, Pipeline, StopAndStem, TokenRule,
    WhitespaceTokenizer, WordTokenizer,
};

use super::simd::Level;
use super::{AnalyzerSpec, READABLE_AFTER_TERM, TermSink};
use crate::{Error, Result};
use frostem::{Algorithm, Stemmer};
use std::path::Path;
use terms::{Cache, Rules};
use words::{Splitter, Words};

/// The stop words of `english`: the 33 that Lucene's `EnglishAnalyzer` has.
pub const ENGLISH_STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// A registered analyzer.
struct Entry {
    name: &'static str,
    description: String,
    splitter: Splitter,
    stop_words: &'static [&'static str],
    stemmer: Option<Algorithm>,
}

/// Every analyzer, those without a language first.
fn registry() -> Vec<Entry> {
    let entry = |name, description: &str, splitter, stop_words, stemmer| Entry {
        name,
        description: description.into(),
        splitter,
        stop_words,
        stemmer,
    };
    let mut entries = vec![
        entry("simple", "words of letters, digits and marks, in small letters", Splitter::Words, &[], None),
        entry(
            "english",
            "simple, without 33 stop words, stemmed by Porter2 (Snowball)",
            Splitter::Words,
            &ENGLISH_STOP_WORDS,
            Some(Algorithm::English),
        ),
        entry("whitespace", "what stands between white space, as it is", Splitter::Whitespace, &[], None),
    ];
    #[cfg(feature = "cjk")]
    entries.push(entry(
        "cjk",
        "simple, but Han, Kana and Hangul as overlapping pairs of characters",
        Splitter::Bigrams,
        &[],
        None,
    ));
    for &algorithm in Algorithm::all() {
        if algorithm != Algorithm::English {
            let description = format!("simple, stemmed by Snowball's {} algorithm", algorithm.name());
            entries.push(entry(algorithm.name(), &description, Splitter::Words, &[], Some(algorithm)));
        }
    }
    entries
}

/// Name and description of every analyzer, for help texts.
pub fn analyzers() -> Vec<(&'static str, String)> {
    registry().into_iter().map(|entry| (entry.name, entry.description)).collect()
}

fn find(name: &str) -> Result<Entry> {
    registry().into_iter().find(|entry| entry.name == name).ok_or_else(|| Error::UnknownName {
        kind: "analyzer",
        name: name.into(),
        choices: registry().iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })
}

impl AnalyzerSpec {
    /// The analyzer of a name, with the stop words of a file in place of its own.
    ///
    /// The file is UTF-8, a word a line; blank lines and lines that begin with `#` do not count. Each line is cut and made small as
    /// the analyzer does with texts (`Don't` stops `don` and `t` under `simple`); an empty file means no stop words.
    ///
    /// # Errors
    /// An unknown name; a file that cannot be read or is not UTF-8.
    pub fn parse(name: &str, stop_words_file: Option<&Path>) -> Result<Self> {
        let splitter = find(name)?.splitter;
        let stop_words = stop_words_file.map(|path| read_stop_words(path, splitter)).transpose()?;
        Ok(Self { name: name.into(), stop_words })
    }
}

fn read_stop_words(path: &Path, splitter: Splitter) -> Result<Vec<String>> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let text = String::from_utf8(bytes).map_err(|error| Error::Invalid {
        what: format!("--stop-words {}", path.display()),
        why: format!("not UTF-8 at byte {}; convert the file", error.utf8_error().valid_up_to()),
    })?;
    let mut words = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        Words::new(Level::detect()).split(splitter, line, |small, start, end| {
            words.push(String::from_utf8_lossy(&small[start..end]).into_owned());
        });
    }
    words.sort();
    words.dedup();
    Ok(words)
}

/// What an analyzer does: how it cuts, and what becomes of a word.
struct Plan {
    splitter: Splitter,
    rules: Rules,
}

impl Plan {
    fn new(spec: &AnalyzerSpec) -> Result<Self> {
        let entry = find(&spec.name)?;
        let stemmer = entry.stemmer.map(Stemmer::new);
        let rules = match &spec.stop_words {
            Some(words) => Rules::new(words.iter().map(String::as_str), stemmer),
            None => Rules::new(entry.stop_words.iter().copied(), stemmer),
        };
        Ok(Self { splitter: entry.splitter, rules })
    }
}

/// Turns text into terms. One per worker: it has scratch memory (about 30 KiB, and 2 MiB if there are stop words or a
/// stemmer), which does not grow.
pub struct Analyzer {
    plan: Plan,
    words: Words,
    cache: Option<Cache>,
}

impl Analyzer {
    /// The analyzer that `spec` describes.
    ///
    /// # Errors
    /// A name that no analyzer has.
    pub fn new(spec: &AnalyzerSpec) -> Result<Self> {
        Self::with_level(spec, Level::detect())
    }

    /// The same for a given instruction set, which the machine must have.
    fn with_level(spec: &AnalyzerSpec, level: Level) -> Result<Self> {
        let plan = Plan::new(spec)?;
        let cache = (!plan.rules.keep_all()).then(Cache::new);
        Ok(Self { plan, words: Words::new(level), cache })
    }

    /// Hands the terms of `text` to `sink`, in order. Returns how many words were dropped for being
    /// longer than [`MAX_TERM_BYTES`](crate::text::MAX_TERM_BYTES).
    #[inline]
    pub fn analyze<S: TermSink>(&mut self, text: &str, sink: &mut S) -> u64 {
        let Self { plan: Plan { splitter, rules }, words, cache } = self;
        match cache {
            None => words.split(*splitter, text, |small, start, end| {
                sink.padded_term(&small[start..end + READABLE_AFTER_TERM], end - start);
            }),
            Some(cache) => words.split(*splitter, text, |small, start, end| {
                if let Some((term, len)) = cache.term(rules, small, start, end) {
                    sink.padded_term(&term[..len + READABLE_AFTER_TERM], len);
                }
            }),
        }
    }
}
