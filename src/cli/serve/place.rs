//! An index in a directory, and the threads that answer from it.

use crate::cli::query::{Asked, Devices, Found, Settings, for_server};
use crate::index::{DocName, Index};
use crate::query::engine::{Answers, Effort, Engine as _, EngineKind, Fallback};
use crate::query::{Hit, Mode, Plan, Searcher};
use crate::serve::{Ask, Counts, Desk, Job, NameCache, Opener, Outcome, ResultCache, Work};
use crate::{Error, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// An index in a directory.
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// What requests call it.
    pub(super) name: String,
    pub(super) settings: Settings,
    /// Bytes for hits of queries that came before.
    pub(super) cache: u64,
    /// Threads that answer on the CPU.
    pub(super) threads: usize,
    /// For a GPU: queries of a batch at most, and how long the first one waits for others.
    pub(super) batch: (usize, Duration),
}

impl Opener for Place {
    fn name(&self) -> &str {
        &self.name
    }

    fn stamp(&self) -> Option<[u64; 3]> {
        let file = std::fs::metadata(self.path.join("manifest.json")).ok()?;
        Some([file.dev(), file.ino(), file.mtime_nsec() as u64 ^ (file.mtime() as u64) << 30])
    }

    fn work(&self, desk: &Desk, counts: &Counts, ready: &mut dyn FnMut()) -> anyhow::Result<()> {
        let index = Index::open(&self.path)?;
        let searcher = self.settings.searcher(&index)?;
        let (cache, known) = (ResultCache::new(self.cache / 2), NameCache::new(self.cache / 2));
        let mut devices = Devices::default();
        let settings = &for_server(&self.settings, &searcher, &mut devices, self.threads);
        let worker = || Worker { place: self, settings, searcher: &searcher, cache: &cache, known: &known, counts };
        if settings.engine_kind() != EngineKind::Cpu {
            let mut engine = settings.engine(&searcher, &mut devices)?;
            ready();
            let (most, wait) = self.batch;
            while let Some(jobs) = desk.take_batch(most, wait) {
                worker().answer(&mut engine, jobs);
            }
            return Ok(());
        }
        let methods = settings.methods()?;
        ready();
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    let mut engine = Fallback::on_cpu(&searcher, &methods);
                    while let Some(job) = desk.take() {
                        worker().answer(&mut engine, vec![job]);
                    }
                });
            }
        });
        Ok(())
    }
}

/// What answers jobs.
struct Worker<'a> {
    place: &'a Place,
    /// With an engine that is chosen.
    settings: &'a Settings,
    searcher: &'a Searcher<'a>,
    cache: &'a ResultCache,
    known: &'a NameCache,
    counts: &'a Counts,
}

/// A query that came with others.
struct Waiting {
    settings: Settings,
    asked: Asked,
    hits: Option<Vec<Hit>>,
    effort: Option<Effort>,
    seconds: f64,
}

/// An answer in JSON, or what is wrong with the query.
type Finished = std::result::Result<Vec<u8>, String>;

impl Worker<'_> {
    /// Answers jobs, all their queries together.
    fn answer(&self, engine: &mut Fallback<'_>, jobs: Vec<Job>) {
        let index = self.searcher.index();
        let mut searches = Vec::new();
        for Job { work, reply, .. } in jobs {
            let outcome = match work {
                Work::Search(asks) => {
                    searches.push((asks, reply));
                    continue;
                }
                Work::Document(id) => self.document(&id),
                Work::Stats => self.stats(),
            };
            let outcome = index.settle(outcome);
            // whoever waited may have left
            let _ = reply.send(outcome.unwrap_or_else(|error| Outcome::Failed(error.to_string())));
        }
        if searches.is_empty() {
            return;
        }
        let start = Instant::now();
        let asks: Vec<&Ask> = searches.iter().flat_map(|(asks, _)| asks).collect();
        let answered = index.settle(self.search(engine, &asks));
        self.counts.batches.observe(asks.len() as f64);
        self.counts.searches.observe(start.elapsed().as_secs_f64());
        let mut answers = match answered {
            Ok(answers) => answers.into_iter(),
            Err(error) => {
                searches.into_iter().for_each(|(_, reply)| _ = reply.send(Outcome::Failed(error.to_string())));
                return;
            }
        };
        for (asks, reply) in searches {
            let _ = reply.send(Outcome::Answers(answers.by_ref().take(asks.len()).collect()));
        }
    }

    /// For each query an answer in JSON, or what is wrong with the query.
    ///
    /// # Errors
    /// The index is damaged.
    fn search(&self, engine: &mut Fallback<'_>, asks: &[&Ask]) -> Result<Vec<Finished>> {
        let mut waiting: Vec<std::result::Result<Waiting, String>> =
            on_cores(asks.to_vec(), |ask| self.waiting(ask)).into_iter().collect::<Result<_>>()?;
        // those with the same mode and k are answered together
        let mut groups: HashMap<(u8, usize), Vec<usize>> = HashMap::new();
        for (number, one) in waiting.iter().enumerate() {
            if let Ok(Waiting { settings, hits: None, .. }) = one {
                groups.entry((settings.mode as u8, settings.k)).or_default().push(number);
            }
        }
        for numbers in groups.into_values() {
            self.run_group(engine, &mut waiting, &numbers)?;
        }
        // reading names and choosing snippets takes longer than finding hits
        let kind = engine.capabilities().kind;
        on_cores(waiting, |one| self.finish(one, kind)).into_iter().collect()
    }

    /// The answer to a query whose hits are there.
    fn finish(&self, one: std::result::Result<Waiting, String>, kind: EngineKind) -> Result<Finished> {
        let Waiting { settings, asked, hits, effort, seconds } = match one {
            Ok(one) => one,
            Err(error) => return Ok(Err(error)),
        };
        let found = Found { hits: hits.unwrap_or_default(), effort, seconds };
        let names = |docs| self.known.names(self.searcher.index(), docs);
        let answer = asked.answered(&settings, self.searcher, kind, found, &names)?;
        let mut json = Vec::new();
        // writing to a Vec does not fail
        let _ = answer.write_json(&mut json, &settings, self.searcher, false);
        Ok(Ok(json))
    }

    /// A query with its terms looked up, and with its hits if they were kept.
    fn waiting(&self, ask: &Ask) -> Result<std::result::Result<Waiting, String>> {
        let own = self.settings;
        let stored = self.searcher.index().has_texts();
        if ask.snippets == Some(true) && !stored {
            return Ok(Err(self.searcher.index().no_texts().to_string()));
        }
        let settings = Settings {
            mode: ask.mode.unwrap_or(own.mode),
            k: ask.k.unwrap_or(own.k),
            explain: ask.explain,
            snippets: ask.snippets.unwrap_or(stored),
            ..own.clone()
        };
        let asked = match Asked::new(self.searcher, &ask.text, &ask.terms) {
            Ok(asked) => asked,
            Err(error @ (Error::Invalid { .. } | Error::Limit { .. })) => return Ok(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        let start = Instant::now();
        let kept = if ask.explain { None } else { self.cache.get(&asked.query, settings.mode, settings.k) };
        let seconds = start.elapsed().as_secs_f64();
        if !ask.explain {
            if kept.is_some() { &self.counts.cache_hits } else { &self.counts.cache_misses }.inc();
        }
        Ok(Ok(Waiting { settings, asked, hits: kept.map(|hits| hits.to_vec()), effort: None, seconds }))
    }

    /// Finds the hits of queries with the same mode and k.
    fn run_group(
        &self,
        engine: &mut Fallback<'_>,
        waiting: &mut [std::result::Result<Waiting, String>],
        numbers: &[usize],
    ) -> Result<()> {
        let plans: Vec<Plan> = numbers
            .iter()
            .filter_map(|&number| waiting[number].as_ref().ok())
            .map(|one| one.asked.plan.clone())
            .collect();
        let Some(Ok(Waiting { settings, .. })) = numbers.first().map(|&number| &waiting[number]) else { return Ok(()) };
        let (mode, k): (Mode, usize) = (settings.mode, settings.k);
        let start = Instant::now();
        let refused = |error: Error| match error {
            // weights that the method cannot take
            Error::Invalid { .. } | Error::Limit { .. } => Ok(error.to_string()),
            error => Err(error),
        };
        let answers = match &plans[..] {
            [plan] => engine.search_one(plan, mode, k),
            plans => engine.search_all(plans, mode, k, &self.settings.schedule(None)?),
        };
        let Answers { hits, effort } = match answers {
            Ok(answers) => answers,
            Err(error) if numbers.len() == 1 => {
                waiting[numbers[0]] = Err(refused(error)?);
                return Ok(());
            }
            Err(error) => {
                refused(error)?;
                // one of them cannot be answered: which, is seen one by one
                return numbers.iter().try_for_each(|&number| self.run_group(engine, waiting, &[number]));
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        for (&number, hits) in numbers.iter().zip(hits) {
            if let Ok(one) = &mut waiting[number] {
                self.cache.put(&one.asked.query, mode, k, &hits);
                (one.hits, one.seconds) = (Some(hits), seconds);
                one.effort = (numbers.len() == 1).then(|| effort.clone());
            }
        }
        Ok(())
    }

    fn document(&self, id: &str) -> Result<Outcome> {
        let index = self.searcher.index();
        let docs = index.find_id(id)?;
        if docs.is_empty() {
            return Ok(Outcome::NotFound);
        }
        let describe = |&doc: &u32| -> Result<serde_json::Value> {
            let DocName { id, url, title } = index.name(doc)?;
            let length = index.lens().get(doc as usize).copied().unwrap_or(0);
            let mut object = serde_json::json!({ "doc": doc, "id": id, "url": url, "title": title, "length": length });
            if let Some(rank) = index.pagerank().and_then(|ranks| ranks.get(doc as usize)) {
                object["pagerank"] = (*rank).into();
            }
            if index.has_texts() {
                object["text"] = index.text(doc)?.into();
            }
            Ok(object)
        };
        let documents = docs.iter().take(MOST_DOCUMENTS).map(describe).collect::<Result<Vec<_>>>()?;
        let object = serde_json::json!({ "count": docs.len(), "documents": documents });
        Ok(Outcome::Found((object.to_string() + "\n").into_bytes()))
    }

    fn stats(&self) -> Result<Outcome> {
        let index = self.searcher.index();
        let [hits, misses] = self.cache.counts();
        let object = serde_json::json!({
            "name": self.place.name,
            "statistics": index.statistics(),
            "analyzer": index.manifest().analyzer.name,
            "codec": self.searcher.codec().codec().name(),
            "engine": self.settings.engine_kind().name(),
            "texts": index.has_texts(),
            "cache": { "hits": hits, "misses": misses, "bytes": self.cache.bytes() },
        });
        Ok(Outcome::Found((object.to_string() + "\n").into_bytes()))
    }
}

/// Work on each of some items, in their order: on all cores if there are many. A few are done sooner than other threads
/// are woken.
fn on_cores<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    match items.len() {
        0..MANY => items.into_iter().map(&work).collect(),
        MANY.. => items.into_par_iter().with_min_len(MANY / 2).map(&work).collect(),
    }
}

/// Items from which it pays to wake other threads, which takes some 20 us.
const MANY: usize = 16;

/// Documents of one id that are sent at most; `count` says how many there are.
const MOST_DOCUMENTS: usize = 100;
