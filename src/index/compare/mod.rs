//! What two indexes differ in.
//!
//! Documents are compared by docID and lists by term, so neither codecs nor termIDs show, and every list is decoded. A
//! list is read in the last codec of its index; `gamut verify` says whether the codecs of an index agree.
//!
//! | file | its one job |
//! |---|---|
//! | [`mod@self`] | parts, differences, and the parts that the manifest tells |
//! | `documents` | what every document has |
//! | `lists` | terms and their postings |

mod documents;
mod lists;
#[cfg(test)]
mod tests;

use crate::base::means::Means;
use crate::index::{Collection, Index};
use crate::{Error, Result};

/// A part of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Order, codecs, and which optional parts there are.
    Options,
    /// How text became terms.
    Analyzer,
    /// Sizes of the collection, by which scores go, and of the index.
    Statistics,
    /// How many documents there are, and the external id of each.
    Ids,
    /// Length of each document.
    Lengths,
    /// URL and title of each document.
    Names,
    /// Place in the input of each document, which decides among equal scores.
    Places,
    /// PageRank of each document.
    Ranks,
    /// Stored text of each document.
    Texts,
    /// Which terms there are.
    Terms,
    /// DocIDs and frequencies of each list.
    Lists,
    /// Quantised impacts of each list.
    Impacts,
}

impl Part {
    /// All parts, with a line about each.
    pub const ALL: [(Self, &'static str, &'static str); 12] = [
        (Self::Options, "options", "order, codecs, and which optional parts there are"),
        (Self::Analyzer, "analyzer", "how text became terms"),
        (Self::Statistics, "statistics", "sizes of the collection, by which scores go, and of the index"),
        (Self::Ids, "ids", "how many documents there are, and the external id of each"),
        (Self::Lengths, "lengths", "length of each document"),
        (Self::Names, "names", "URL and title of each document"),
        (Self::Places, "places", "place in the input of each document, which decides among equal scores"),
        (Self::Ranks, "ranks", "PageRank of each document"),
        (Self::Texts, "texts", "stored text of each document"),
        (Self::Terms, "terms", "which terms there are"),
        (Self::Lists, "lists", "docIDs and frequencies of each list"),
        (Self::Impacts, "impacts", "quantised impacts of each list"),
    ];

    /// The part of a name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL.iter().find(|(_, other, _)| *other == name).map(|(part, ..)| *part).ok_or_else(|| {
            Error::UnknownName {
                kind: "part of an index",
                name: name.to_owned(),
                choices: Self::ALL.map(|(_, name, _)| name).join(", "),
            }
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Where: a field, a document, a term.
    pub at: String,
    /// What the first index has there.
    pub first: String,
    /// What the second one has.
    pub second: String,
}

/// The differences in one part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Differences {
    /// The part.
    pub part: Part,
    /// How many documents, terms or fields differ.
    pub count: u64,
    /// The first few.
    pub shown: Vec<Difference>,
}

impl Differences {
    fn new(part: Part) -> Self {
        Self { part, count: 0, shown: Vec::new() }
    }

    /// Adds a difference, which is kept if it is one of the first `keep`.
    fn add(&mut self, keep: usize, difference: impl FnOnce() -> Difference) {
        self.count += 1;
        if self.shown.len() < keep {
            self.shown.push(difference());
        }
    }

    /// Adds what a later part of the work found.
    fn join(&mut self, keep: usize, other: Self) {
        self.count += other.count;
        let room = keep - self.shown.len().min(keep);
        self.shown.extend(other.shown.into_iter().take(room));
    }
}

/// What to compare.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The parts; none twice.
    pub parts: Vec<Part>,
    /// How many differences of each part are kept.
    pub keep: usize,
    /// What the work may use.
    pub means: Means,
}

/// Compares two indexes. The result has an entry for each part that was compared, in the order of [`Part::ALL`].
///
/// # Errors
/// [`Error::Damaged`], [`Error::Changed`], [`Error::Interrupted`].
pub fn compare(first: &Index, second: &Index, comparison: &Comparison) -> Result<Vec<Differences>> {
    let compared = compared([first, second], comparison);
    compared.map_err(|error| first.cause(error)).map_err(|error| second.cause(error))
}

fn compared(indexes: [&Index; 2], comparison: &Comparison) -> Result<Vec<Differences>> {
    indexes.iter().try_for_each(|index| index.without_deleted("a comparison"))?;
    let keep = comparison.keep;
    let wanted = |part: Part| comparison.parts.contains(&part);
    let mut found = Vec::new();
    for (part, fields) in [
        (Part::Options, options as Fields),
        (Part::Analyzer, analyzer as Fields),
        (Part::Statistics, statistics as Fields),
    ] {
        if wanted(part) {
            let mut differences = Differences::new(part);
            let [first, second] = indexes.map(fields);
            for ((at, first), (_, second)) in first.into_iter().zip(second) {
                if first != second {
                    differences.add(keep, || Difference { at: at.to_owned(), first, second });
                }
            }
            found.push(differences);
        }
    }
    documents::compare(indexes, comparison, &mut found)?;
    lists::compare(indexes, comparison, &mut found)?;
    for index in indexes {
        index.unchanged()?;
    }
    found.sort_by_key(|differences| differences.part);
    Ok(found)
}

/// Fields with their values as text.
type Fields = fn(&Index) -> Vec<(&'static str, String)>;

fn yes(there: bool) -> String {
    if there { "yes" } else { "no" }.to_owned()
}

fn options(index: &Index) -> Vec<(&'static str, String)> {
    let manifest = index.manifest();
    let codecs: Vec<String> = index.codecs().map(|codec| crate::codec::spec(codec.codec())).collect();
    let has = |name: &str| yes(manifest.file(name).is_some());
    vec![
        ("order", manifest.order.clone()),
        ("codecs", codecs.join(", ")),
        ("impacts", has("impacts.bin")),
        ("tables", has("tables.bin")),
        ("texts", has("text.zst")),
        ("ranks", has("pagerank.bin")),
        ("ids.bin", has("ids.bin")),
        ("frequencies are weights", yes(manifest.weights())),
        ("lengths are counted", yes(manifest.imported.is_none())),
    ]
}

fn analyzer(index: &Index) -> Vec<(&'static str, String)> {
    let analyzer = &index.manifest().analyzer;
    let stop = analyzer.stop_words.as_ref().map_or_else(|| "its own".to_owned(), |words| words.join(" "));
    vec![
        ("analyzer", analyzer.name.clone()),
        ("stop words", stop),
        ("rules", analyzer.rules.to_string()),
        ("Unicode", analyzer.unicode.clone().unwrap_or_else(|| "not known".to_owned())),
    ]
}

fn statistics(index: &Index) -> Vec<(&'static str, String)> {
    let (s, Collection { documents, terms, tokens, mean_length }) = (index.statistics(), index.collection());
    vec![
        ("documents", s.documents.to_string()),
        ("terms", s.terms.to_string()),
        ("postings", s.postings.to_string()),
        ("tokens", s.tokens.to_string()),
        ("longest document", s.longest_document.to_string()),
        ("duplicate ids", s.duplicate_ids.to_string()),
        ("documents of the collection", documents.to_string()),
        ("terms of the collection", terms.to_string()),
        ("tokens of the collection", tokens.to_string()),
        ("mean length", mean_length.to_string()),
    ]
}
