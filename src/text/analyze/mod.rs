//! Text → terms.
//!
//! | file | what lives there |
//! |---|---|
//! | `registry` | the analyzers by name |
//! | `class`, `breaks` | what a character is to the analyzers' own rules, and to UAX #29 |
//! | `words` | the fast path of `simple`, `english` and the like |
//! | `lucene`, `porter` | tokens and stems of `lucene-english` |
//! | `segments` | words of scripts without spaces, by dictionary |
//! | `terms` | stop words, stems, and a cache of them |
//! | `tokenizers` | the same as parts for tantivy's tokenizer API |
//! | `locate` | where the terms of a text stand in it |
//! | `adapter` | any tokenizer of that API as an analyzer |

mod adapter;
mod breaks;
mod class;
mod locate;
mod lucene;
mod porter;
mod registry;
mod segments;
mod terms;
mod tokenizers;
mod words;

#[cfg(test)]
mod tests;

pub use adapter::Brought;
pub use class::UNICODE;
pub use locate::Locator;
pub use registry::{ENGLISH_STOP_WORDS, analyzers};
pub use segments::{SegmentStream, SegmentTokenizer};
pub use tokenizers::{
    BigramTokenizer, Cutter, DropLong, Filter, Filtered, FilteredStream, LowerCase, LuceneTokenizer, Pipeline,
    SimpleLowerCase, StopAndStem, TokenRule, TurkishDots, WhitespaceTokenizer, WithoutPossessive, WordTokenizer,
};

use super::{AnalyzerSpec, READABLE_AFTER_TERM, RULES, TermSink};
use crate::base::simd::Available;
use crate::base::text_file;
use crate::{Error, Result};
use adapter::{Adapter, Tokens};
use lucene::Lucene;
use registry::{Cut, TURKISH, UNKNOWN, find};
use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use terms::{Cache, Rules};
use words::Words;

impl AnalyzerSpec {
    /// The analyzer of a name, with the stop words of a file in place of its own.
    ///
    /// The file is UTF-8, a word a line; blank lines and lines that begin with `#` do not count. Each line is cut and
    /// made small as the analyzer does with texts (`Don't` stops `don` and `t` under `simple`); an empty file means no
    /// stop words.
    ///
    /// # Errors
    /// An unknown name; a file that cannot be read or is not UTF-8.
    pub fn parse(name: &str, stop_words_file: Option<&Path>) -> Result<Self> {
        find(name)?;
        if name == UNKNOWN {
            let why = "stands for terms that another program made; name the analyzer of these texts".to_owned();
            return Err(Error::Invalid { what: "analyzer \"unknown\"".to_owned(), why });
        }
        let spec = Self::named(name);
        let stop_words = stop_words_file.map(|path| read_stop_words(path, &spec)).transpose()?;
        Ok(Self { stop_words, ..spec })
    }

    /// What to tell who queries an index that another version of Unicode made; `None` if there is nothing to tell.
    pub fn other_unicode(&self) -> Option<String> {
        let made = self.unicode.as_deref().filter(|&made| made != UNICODE)?;
        Some(format!(
            "the index was made by Unicode {made}, and queries are analysed by Unicode {UNICODE}: words with \
             characters that changed in between may not be found; build the index again to find them"
        ))
    }

    /// The analyzer of a name, which need not be there, with its own stop words, by its newest rules.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            stop_words: None,
            rules: if name == TURKISH { 3 } else { 2 },
            unicode: Some(UNICODE.to_owned()),
            tokenizer: Brought::default(),
        }
    }
}

impl AnalyzerSpec {
    /// Nobody knows how texts became the terms of the index: the words of queries are ready terms.
    pub fn unknown() -> Self {
        Self { unicode: None, ..Self::named(UNKNOWN) }
    }

    /// Whether it is [`Self::unknown`].
    pub fn is_unknown(&self) -> bool {
        self.name == UNKNOWN
    }
}

fn read_stop_words(path: &Path, spec: &AnalyzerSpec) -> Result<Vec<String>> {
    let bytes = File::open(path).and_then(text_file::read).map_err(Error::io("read", path))?;
    let text = String::from_utf8(bytes).map_err(|error| Error::Invalid {
        what: format!("--stop-words {}", path.display()),
        why: format!("not UTF-8 at byte {}; convert the file", error.utf8_error().valid_up_to()),
    })?;
    let mut words = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    let Plan { cut, before, .. } = Plan::new(spec)?;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        Cutting::new(cut, Available::best()).split(&before.of(line), &mut |small, start, end| {
            words.push(String::from_utf8_lossy(&small[start..end]).into_owned());
        });
    }
    words.sort();
    words.dedup();
    Ok(words)
}

/// What an analyzer does: how it cuts, and what becomes of a word.
struct Plan {
    cut: Cut,
    before: Before,
    rules: Rules,
}

/// What is done to a text before it is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// Rules of version 1: characters that are left out of words now separate them.
    FormatToSpaces,
    /// [`class::turkish_dots`].
    TurkishDots,
}

impl Before {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(text),
            Self::FormatToSpaces => Cow::Owned(format_to_spaces(text)),
            // no other text changes by it
            Self::TurkishDots if !text.contains(['I', 'İ']) => Cow::Borrowed(text),
            Self::TurkishDots => Cow::Owned(class::turkish_dots(text)),
        }
    }
}

impl Plan {
    fn new(spec: &AnalyzerSpec) -> Result<Self> {
        if !(1..=RULES).contains(&spec.rules) {
            return Err(Error::Invalid {
                what: format!("rules of analysis {}", spec.rules),
                why: format!("this gamut knows the versions 1 to {RULES}; use a newer one, or build the index again"),
            });
        }
        let entry = find(&spec.name)?;
        let rules = match &spec.stop_words {
            Some(words) => Rules::new(words.iter().map(String::as_str), entry.stem),
            None => Rules::new(entry.stop_words.iter().copied(), entry.stem),
        };
        let before = match spec.rules {
            1 if entry.cut.leaves_out_format() => Before::FormatToSpaces,
            3.. if spec.name == TURKISH => Before::TurkishDots,
            _ => Before::Nothing,
        };
        Ok(Self { cut: entry.cut, before, rules })
    }
}

/// What rules of version 1 saw: characters that belong to no word, each as a space.
fn format_to_spaces(text: &str) -> String {
    text.chars().map(|c| if class::Class::of(c).is_format() { ' ' } else { c }).collect()
}

/// What cuts texts into words, with its scratch memory.
enum Cutting {
    Words(Words, words::Splitter),
    Lucene(Lucene),
    Tokens(Adapter),
}

impl Cutting {
    fn new(cut: Cut, level: Available) -> Self {
        match cut {
            Cut::Words(splitter) => Self::Words(Words::new(level), splitter),
            Cut::Lucene => Self::Lucene(Lucene::new()),
            Cut::Segments => Self::Tokens(Adapter::new(Box::new(tokenizers::segments()))),
        }
    }

    /// As [`Words::split`].
    fn split(&mut self, text: &str, word: &mut dyn FnMut(&[u8], usize, usize)) -> u64 {
        match self {
            Self::Words(words, splitter) => words.split(*splitter, text, word),
            Self::Lucene(lucene) => lucene.split(text, word),
            Self::Tokens(adapter) => adapter.split(text, word),
        }
    }
}

/// Turns text into terms. One per worker: it has scratch memory (about 30 KiB, and 2 MiB if there are stop words or a
/// stemmer), which does not grow.
pub struct Analyzer {
    cutting: Cutting,
    before: Before,
    rules: Rules,
    cache: Option<Cache>,
}

impl Analyzer {
    /// The analyzer that `spec` describes.
    ///
    /// # Errors
    /// A name that no analyzer has, or rules that this gamut does not know.
    pub fn new(spec: &AnalyzerSpec) -> Result<Self> {
        Self::with_level(spec, Available::best())
    }

    /// The same for a given instruction set, which the machine must have.
    fn with_level(spec: &AnalyzerSpec, level: Available) -> Result<Self> {
        if let Some(tokens) = spec.tokenizer.tokens() {
            return Ok(Self::of_tokens(tokens));
        }
        let Plan { cut, before, rules } = Plan::new(spec)?;
        let cache = (!rules.keep_all()).then(Cache::new);
        Ok(Self { cutting: Cutting::new(cut, level), before, rules, cache })
    }

    fn of_tokens(tokens: Box<dyn Tokens>) -> Self {
        let (cutting, rules) = (Cutting::Tokens(Adapter::new(tokens)), Rules::new([], None));
        Self { cutting, before: Before::Nothing, rules, cache: None }
    }

    /// Hands the terms of `text` to `sink`, in order. Returns how many words were dropped for being
    /// longer than [`MAX_TERM_BYTES`](crate::text::MAX_TERM_BYTES).
    #[inline]
    pub fn analyze<S: TermSink>(&mut self, text: &str, sink: &mut S) -> u64 {
        let Self { cutting, before, rules, cache } = self;
        let text = &*before.of(text);
        // The fast path has closures of its own, which nothing else calls: they are compiled into its loop.
        let Cutting::Words(words, splitter) = cutting else { return self.analyze_apart(text, sink) };
        match cache {
            None => words.split(*splitter, text, |small: &[u8], start, end| {
                sink.padded_term(&small[start..end + READABLE_AFTER_TERM], end - start);
            }),
            Some(cache) => words.split(*splitter, text, |small: &[u8], start, end| {
                if let Some((term, len)) = cache.term(rules, small, start, end) {
                    sink.padded_term(&term[..len + READABLE_AFTER_TERM], len);
                }
            }),
        }
    }

    /// As [`Self::analyze`], with whatever cuts.
    #[cold]
    #[inline(never)]
    fn analyze_apart<S: TermSink>(&mut self, text: &str, sink: &mut S) -> u64 {
        let Self { cutting, rules, cache, .. } = self;
        cutting.split(text, &mut |small, start, end| match cache {
            None => sink.padded_term(&small[start..end + READABLE_AFTER_TERM], end - start),
            Some(cache) => {
                if let Some((term, len)) = cache.term(rules, small, start, end) {
                    sink.padded_term(&term[..len + READABLE_AFTER_TERM], len);
                }
            }
        })
    }
}
