//! A query → an answer, as text or JSON.

use super::auto::Reason;
use super::explain::{self, Explained, LEFT_TO_CPU};
use super::settings::Settings;
use crate::Result;
use crate::base::json;
use crate::cli::ui::printable;
use crate::index::{DocName, Index};
use crate::query::engine::{Answers, Effort, Engine as _, EngineKind, Fallback};
use crate::query::snippet::{Snippet, WIDTH};
use crate::query::{Hit, Mode, Plan, Query, Scores, Searcher};
use anyhow::Context as _;
use rayon::prelude::*;
use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Instant;

/// The names of some documents.
pub type Names = HashMap<u32, Arc<DocName>>;

/// A query and what came of it.
pub struct Answer {
    /// As it was typed.
    pub text: String,
    pub query: Query,
    pub plan: Plan,
    /// Who answered, or was asked to.
    kind: EngineKind,
    pub hits: Vec<Hit>,
    /// What answering took, if it was asked for.
    pub explained: Option<Explained>,
    pub times: Times,
    names: Names,
    /// One for each hit, if they were asked for.
    snippets: Vec<Snippet>,
}

/// Seconds.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Times {
    /// Text → terms.
    pub analyse: f64,
    /// Terms → their lists.
    pub plan: f64,
    /// Lists → hits.
    pub search: f64,
}

impl Times {
    /// From the text to the hits; their titles are fetched afterwards.
    pub fn total(self) -> f64 {
        self.analyse + self.plan + self.search
    }
}

/// Answers one query.
///
/// # Errors
/// The index is damaged, or was written to.
pub fn ask(settings: &Settings, engine: &mut Fallback<'_>, text: &str) -> Result<Answer> {
    answer(settings, engine, text).map_err(|error| engine.searcher().index().cause(error))
}

fn answer(settings: &Settings, engine: &mut Fallback<'_>, text: &str) -> Result<Answer> {
    let searcher = engine.searcher();
    let asked = Asked::new(searcher, text, &[])?;
    let start = Instant::now();
    let Answers { mut hits, effort } = engine.search_one(&asked.plan, settings.mode, settings.k)?;
    let hits = hits.pop().unwrap_or_default();
    let found = Found { hits, effort: Some(effort), seconds: start.elapsed().as_secs_f64() };
    let kind = engine.capabilities().kind;
    if let Some(Effort::Gpu(report)) = found.effort.as_ref().filter(|_| !settings.explain)
        && report.by_cpu > 0
    {
        tell!("gamut: the CPU answered: {LEFT_TO_CPU}");
    }
    let mut answer = asked.answered(settings, searcher, kind, found, &|docs| names(searcher.index(), docs))?;
    if let Some(explained) = &mut answer.explained {
        explained.auto = Reason::of(settings, engine, &answer.plan);
    }
    Ok(answer)
}

/// A query with its terms looked up.
pub struct Asked {
    text: String,
    /// Its terms.
    pub query: Query,
    /// Its terms, as the index has them.
    pub plan: Plan,
    times: Times,
}

impl Asked {
    /// Of a text, or of ready terms if there are any.
    ///
    /// # Errors
    /// Weights out of range; the index is damaged.
    pub fn new(searcher: &Searcher<'_>, text: &str, terms: &[(String, f32)]) -> Result<Self> {
        let start = Instant::now();
        let query = match terms {
            [] => searcher.parse_weighted(text)?,
            terms => Query::of_terms(terms.iter().cloned())?,
        };
        let analyse = start.elapsed().as_secs_f64();
        let plan = searcher.plan(&query)?;
        let times = Times { analyse, plan: start.elapsed().as_secs_f64() - analyse, search: 0.0 };
        Ok(Self { text: text.to_owned(), query, plan, times })
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With what was found by an engine of that kind. `names` says what documents are called.
    ///
    /// # Errors
    /// The index is damaged, or was written to.
    pub fn answered(
        self,
        settings: &Settings,
        searcher: &Searcher<'_>,
        asked: EngineKind,
        Found { hits, effort, seconds }: Found,
        names: &dyn Fn(Vec<u32>) -> Result<Names>,
    ) -> Result<Answer> {
        let Self { text, query, plan, times } = self;
        let times = Times { search: seconds, ..times };
        let kind = effort.as_ref().map_or(asked, Effort::answered);
        let explained = match effort.filter(|_| settings.explain) {
            Some(effort) => Some(Explained { facts: searcher.facts(&query, &plan)?, effort, asked, auto: None }),
            None => None,
        };
        let names = names(hits.iter().map(|hit| hit.doc).collect())?;
        let snippets = match settings.snippets {
            true => {
                let docs: Vec<_> = hits.iter().map(|hit| (hit.doc, names[&hit.doc].title.as_str())).collect();
                let snippets = searcher.snippets();
                snippets.of(&docs, &snippets.wanted(&query)?, WIDTH)?
            }
            false => Vec::new(),
        };
        Ok(Answer { text, query, plan, kind, hits, explained, times, names, snippets })
    }
}

/// What an engine found for a query.
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// If it is known.
    pub effort: Option<Effort>,
    /// What it took.
    pub seconds: f64,
}

/// Answers the one query of the command line; returns whether something was found.
///
/// # Errors
/// The index is damaged; the output cannot be written.
pub fn once(settings: &Settings, engine: &mut Fallback<'_>, text: &str, json: bool) -> anyhow::Result<bool> {
    let answer = ask(settings, engine, text)?;
    let mut text = Vec::new();
    match json {
        true => answer.write_json(&mut text, settings, engine.searcher(), true),
        false => answer.write(&mut text, settings, engine),
    }?;
    engine.searcher().index().unchanged()?;
    let mut out = io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).context("cannot write the results")?;
    if answer.hits.is_empty() {
        say_why(engine, &answer.query, settings.mode);
    }
    Ok(!answer.hits.is_empty())
}

/// Tells on stderr why nothing was found.
pub fn say_why(engine: &Fallback<'_>, query: &Query, mode: Mode) {
    let searcher = engine.searcher();
    let unknown = |term: &&String| matches!(searcher.lookup(term), Ok(None));
    let missing: Vec<&str> = query.terms.iter().map(|(term, _)| term).filter(unknown).map(String::as_str).collect();
    let all = missing.len() == query.terms.len();
    match (query.terms.is_empty(), &missing[..]) {
        (true, _) => tell!("gamut: nothing found: the query has no terms"),
        (_, []) if mode == Mode::And => {
            tell!("gamut: nothing found: no document contains all terms; try --mode or");
        }
        (_, []) if searcher.subset().is_some() => {
            tell!("gamut: nothing found: no document of --within contains a term of the query");
        }
        (_, []) => tell!("gamut: nothing found: no document that is left contains a term of the query"),
        (_, missing) => {
            let (shown, more) = missing.split_at(missing.len().min(10));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more terms", more.len()) };
            let instead = match () {
                () if mode == Mode::And && !all => "; --mode or ignores them",
                () if searcher.subset().is_some() && !all => ", and none of --within the others",
                () => "",
            };
            tell!("gamut: nothing found: no document contains {}{more}{instead}", shown.join(", "));
        }
    }
}

/// The names of some documents; every block of the document table is unpacked at most once, on all cores.
pub fn names(index: &Index, mut docs: Vec<u32>) -> Result<Names> {
    docs.sort_unstable();
    docs.dedup();
    let parts: Result<Vec<_>> = docs.par_chunks(64).map(|docs| index.names(docs)).collect();
    Ok(docs.into_iter().zip(parts?.into_iter().flatten().map(Arc::new)).collect())
}

/// What stands before and behind a marked word.
fn marking() -> [&'static str; 2] {
    if io::stdout().is_terminal() { ["\x1b[1m", "\x1b[0m"] } else { ["**", "**"] }
}

/// A snippet as a line of text.
fn line_of(snippet: &Snippet, [mark, end]: [&str; 2]) -> String {
    let mut line = String::from(if snippet.begins { "" } else { "… " });
    for (piece, marked) in snippet.pieces() {
        let (mark, end) = if marked { (mark, end) } else { ("", "") };
        line.extend([mark, piece, end]);
    }
    line + if snippet.ends { "" } else { " …" }
}

#[derive(serde::Serialize)]
struct JsonSnippet<'a> {
    text: &'a str,
    /// In characters.
    marks: Vec<[usize; 2]>,
    begins: bool,
    ends: bool,
}

#[derive(serde::Serialize)]
struct JsonTerm<'a> {
    term: &'a str,
    weight: f32,
    df: u32,
}

#[derive(serde::Serialize)]
struct JsonHit<'a> {
    rank: usize,
    score: f32,
    doc: u32,
    id: &'a str,
    url: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<JsonSnippet<'a>>,
}

#[derive(serde::Serialize)]
struct JsonAnswer<'a> {
    query: &'a str,
    mode: Mode,
    k: usize,
    k1: f32,
    b: f32,
    scores: Scores,
    /// What an impact of 1 stands for, by impacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<f32>,
    codec: String,
    engine: &'static str,
    terms: Vec<JsonTerm<'a>>,
    seconds: f64,
    hits: Vec<JsonHit<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<explain::Json<'a>>,
}

/// Columns of a score: nearly all have nine digits and a point, or less.
pub const SCORE: usize = 10;

impl Answer {
    /// Writes a line a hit, and the explanation.
    ///
    /// # Errors
    /// Of `out`.
    pub fn write(&self, out: &mut impl Write, settings: &Settings, engine: &Fallback<'_>) -> io::Result<()> {
        let marking = marking();
        for (rank, hit) in (1..).zip(&self.hits) {
            let name = &self.names[&hit.doc];
            // As a run file has it: hits of different scores look different.
            let score = hit.score.to_string();
            let line = format!("{rank:>3}  {score:<SCORE$}  {}  {}", printable(&name.id), printable(&name.title));
            writeln!(out, "{}", line.trim_end())?;
            if let Some(snippet) = self.snippets.get(rank - 1).filter(|snippet| !snippet.text.is_empty()) {
                writeln!(out, "     {}", line_of(snippet, marking))?;
            }
        }
        if let Some(explained) = &self.explained {
            if !self.hits.is_empty() {
                writeln!(out)?;
            }
            explained.write(out, settings, engine, self.times)?;
        }
        Ok(())
    }

    /// Writes an object, on one line unless `pretty`.
    ///
    /// # Errors
    /// Of `out`.
    pub fn write_json(
        &self,
        out: &mut impl Write,
        settings: &Settings,
        searcher: &Searcher<'_>,
        pretty: bool,
    ) -> io::Result<()> {
        let mut known = self.plan.terms.iter();
        let terms = self.query.terms.iter().map(|(term, weight)| {
            let found = searcher.lookup(term).ok().flatten().and_then(|_| known.next());
            let df = found.map_or(0, |term| searcher.index().living_df(term.id, &term.info));
            JsonTerm { term, weight: *weight, df }
        });
        let hit = |(rank, hit): (usize, &Hit)| {
            let DocName { id, url, title } = &*self.names[&hit.doc];
            let snippet = self.snippets.get(rank - 1).map(|snippet| JsonSnippet {
                text: &snippet.text,
                marks: snippet.marks_in_chars(),
                begins: snippet.begins,
                ends: snippet.ends,
            });
            JsonHit { rank, score: hit.score, doc: hit.doc, id, url, title, snippet }
        };
        let hits = (1..).zip(&self.hits).map(hit);
        let answer = JsonAnswer {
            query: &self.text,
            mode: settings.mode,
            k: settings.k,
            k1: settings.k1,
            b: settings.b,
            scores: searcher.scores(),
            step: searcher.impacts().map(|impacts| impacts.quantizer().step()),
            codec: searcher.codec_name(),
            engine: self.kind.name(),
            terms: terms.collect(),
            seconds: self.times.total(),
            hits: hits.collect(),
            explain: self.explained.as_ref().map(|explained| explained.json(settings, self.times)),
        };
        if pretty { json::document(out, &answer) } else { json::line(out, &answer) }
    }
}
