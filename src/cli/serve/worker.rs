//! What the threads of an index do with a job: look up, search, answer.

use super::place::{Place, Queues, Task};
use super::request::{Hits, Request, Ticket};
use crate::cli::query::{Asked, Found, Settings};
use crate::index::DocName;
use crate::query::cost::{CostModel as _, Features, Knowledge};
use crate::query::dispatch::{Arrival, Work as Batch};
use crate::query::engine::{Answers, Effort, Engine as _, EngineKind, Fallback, Methods, Queries};
use crate::query::{Mode, Plan, Searcher};
use crate::serve::{Ask, Counts, Job, NameCache, Outcome, ResultCache, Work};
use crate::{Error, Result};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// What all threads of an index share.
pub(super) struct Worker<'a, 'd> {
    pub(super) place: &'a Place,
    /// The place's, with an engine that is chosen.
    pub(super) settings: &'a Settings,
    /// What queries should cost.
    pub(super) model: &'a Knowledge,
    pub(super) searcher: &'d Searcher<'d>,
    /// By the other kind of score, or why there is none.
    pub(super) other: &'d std::result::Result<Searcher<'d>, String>,
    pub(super) cache: &'a ResultCache,
    pub(super) known: &'a NameCache,
    pub(super) counts: &'a Counts,
    pub(super) queues: &'a Queues<'d>,
    /// What answers.
    pub(super) engine: EngineKind,
}

/// The CPU by either kind of score.
pub(super) struct Engines<'d> {
    own: Fallback<'d>,
    other: Option<Fallback<'d>>,
}

/// A query, or what is wrong with it.
type Looked = std::result::Result<(Settings, Asked, Option<Hits>), String>;

/// Panics where a test wants it, by a word of the query.
#[cfg(test)]
fn planted(word: &str, text: &str) {
    assert!(!text.contains(word), "planted: {word}");
}

#[cfg(not(test))]
fn planted(_: &str, _: &str) {}

/// Takes the GPU away where a test wants it, by a word of the query.
#[cfg(test)]
fn lose(engine: &Fallback<'_>, text: &str) {
    let devices = engine.devices().iter().filter(|_| text.contains("devicelost"));
    devices.for_each(|device| device.gpu().destroy());
}

#[cfg(not(test))]
fn lose(_: &Fallback<'_>, _: &str) {}

/// Errors that are the query's, as a text: weights that the method cannot take.
fn refused(error: Error) -> Result<String> {
    match error {
        Error::Invalid { .. } | Error::Limit { .. } => Ok(error.to_string()),
        error => Err(error),
    }
}

impl<'d> Worker<'_, 'd> {
    /// Engines for a thread of the CPU.
    pub(super) fn engines(&self, methods: &Methods) -> Engines<'d> {
        let on_cpu = |searcher| Fallback::on_cpu(searcher, methods);
        Engines { own: on_cpu(self.searcher), other: self.other.as_ref().ok().map(on_cpu) }
    }

    /// Takes up a job: answers it, or sends its queries on.
    pub(super) fn look_up(&self, engines: &mut Engines<'d>, Job { work, deadline, reply }: Job) {
        let index = self.searcher.index();
        let outcome = match work {
            Work::Search(asks) => {
                let request = Request::new(asks.len(), deadline, reply);
                let looked: Result<Vec<Looked>> = match asks.len() {
                    0..MANY => asks.iter().map(|ask| self.looked(ask)).collect(),
                    _ => asks.par_iter().with_min_len(MANY / 2).map(|ask| self.looked(ask)).collect(),
                };
                match index.settle(looked) {
                    Ok(looked) => self.send_on(engines, &request, looked),
                    Err(error) => request.fail(Outcome::Failed(error.to_string())),
                }
                return;
            }
            Work::Document(id) => self.document(&id),
            Work::Stats => self.stats(),
        };
        // whoever waited may have left
        let _ = reply.send(index.settle(outcome).unwrap_or_else(|error| Outcome::Failed(error.to_string())));
    }

    /// A query with its terms looked up, and with its hits if they were kept.
    fn looked(&self, ask: &Ask) -> Result<Looked> {
        planted("panicwhenlookedup", &ask.text);
        let own = self.settings;
        let stored = self.searcher.index().has_texts();
        if ask.snippets == Some(true) && !stored {
            return Ok(Err(self.searcher.index().no_texts().to_string()));
        }
        let settings = Settings {
            mode: ask.mode.unwrap_or(own.mode),
            k: ask.k.unwrap_or(own.k),
            scores: ask.scores.or(own.scores),
            explain: ask.explain,
            snippets: ask.snippets.unwrap_or(stored),
            ..own.clone()
        };
        // a plan holds what a term adds to a score of its kind
        let searcher = match self.other {
            _ if settings.scores == own.scores => self.searcher,
            Ok(other) => other,
            Err(why) => return Ok(Err(why.clone())),
        };
        let asked = match Asked::new(searcher, &ask.text, &ask.terms) {
            Ok(asked) => asked,
            Err(error) => return refused(error).map(Err),
        };
        // a word between spaces can be many terms
        let (terms, most) = (asked.query.terms.len(), self.place.max_terms);
        if terms > most {
            return Ok(Err(format!("the query has {terms} terms; this server takes {most} at most")));
        }
        if ask.explain || settings.scores != own.scores {
            return Ok(Ok((settings, asked, None)));
        }
        let start = Instant::now();
        let kept = self.cache.get(&asked.query, settings.mode, settings.k);
        let seconds = start.elapsed().as_secs_f64();
        if kept.is_some() { &self.counts.cache_hits } else { &self.counts.cache_misses }.inc();
        let kept = kept.map(|hits| Hits { hits: hits.to_vec(), kind: self.engine, effort: None, seconds });
        Ok(Ok((settings, asked, kept)))
    }

    /// Sends queries on: to the dispatcher, or to those who make answers.
    fn send_on(&self, engines: &mut Engines<'d>, request: &Arc<Request>, looked: Vec<Looked>) {
        let queues = self.queues;
        queues.desk.hold(looked.iter().filter(|one| one.is_ok()).count());
        let (mut waiting, mut found, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let arrived = queues.waiting.now();
        let deadline = queues.waiting.since_start(request.deadline);
        for (number, one) in looked.into_iter().enumerate() {
            let (settings, asked, hits) = match one {
                Ok(looked) => looked,
                Err(why) => {
                    request.answer(number, Err(why));
                    continue;
                }
            };
            let features = Features::of(&asked.plan, settings.mode, settings.k);
            let (costs, shortest) = (self.model.costs(&features), features.shortest);
            let mut ticket = Ticket::new(queues.desk, (Arc::clone(request), number), settings, asked);
            match hits {
                Some(hits) => {
                    ticket.begin();
                    found.push((ticket, hits));
                }
                None if ticket.settings.scores != self.settings.scores => others.push(ticket),
                None => waiting.push((Arrival { arrived, deadline, costs, shortest }, ticket)),
            }
        }
        queues.waiting.put(waiting);
        let own = if found.len() == 1 { found.pop() } else { None };
        queues.put(found.into_iter().map(|(ticket, hits)| Task::Answer(ticket, hits)));
        if let Some((ticket, hits)) = own {
            self.answer(engines, ticket, hits);
        }
        // the lists of a GPU's engine have one kind of score
        others.into_iter().for_each(|ticket| self.search(engines, ticket, None));
    }

    /// Finds the hits of a query on the CPU, and answers it. `number` is the thread's place among those who search.
    pub(super) fn search(&self, engines: &mut Engines<'d>, mut ticket: Ticket<'d>, number: Option<usize>) {
        ticket.begin();
        let Some(plan) = ticket.asked.as_ref().map(|asked| asked.plan.clone()) else { return };
        planted("panicwhensearched", ticket.asked.as_ref().map_or("", |asked| asked.text()));
        if ticket.request.is_over() {
            number.into_iter().for_each(|number| self.queues.waiting.done(number));
            return;
        }
        let own = ticket.settings.scores == self.settings.scores;
        let Settings { mode, k, .. } = ticket.settings;
        let start = Instant::now();
        let engine = match &mut engines.other {
            Some(other) if !own => other,
            _ => &mut engines.own,
        };
        let answers = engine.search_one(&plan, mode, k);
        number.into_iter().for_each(|number| self.queues.waiting.done(number));
        self.counts.by_cpu.inc();
        self.found_one(ticket, answers, start)
            .into_iter()
            .for_each(|(ticket, hits)| self.answer(engines, ticket, hits));
    }

    /// A query with its hits; or it is answered with what is wrong.
    fn found_one(&self, ticket: Ticket<'d>, answers: Result<Answers>, start: Instant) -> Option<(Ticket<'d>, Hits)> {
        let seconds = start.elapsed().as_secs_f64();
        self.counts.batches.observe(1.0);
        self.counts.searches.observe(seconds);
        match self.searcher.index().settle(answers) {
            Ok(Answers { mut hits, effort }) => {
                let kind = effort.answered();
                let hits = Hits { hits: hits.pop().unwrap_or_default(), kind, effort: Some(effort), seconds };
                self.keep(&ticket, &hits);
                Some((ticket, hits))
            }
            Err(error) => {
                match refused(error) {
                    Ok(why) => ticket.answer(Err(why)),
                    Err(error) => ticket.request.fail(Outcome::Failed(error.to_string())),
                }
                None
            }
        }
    }

    fn keep(&self, ticket: &Ticket<'d>, hits: &Hits) {
        if let Some(asked) = ticket.asked.as_ref().filter(|_| ticket.settings.scores == self.settings.scores) {
            self.cache.put(&asked.query, ticket.settings.mode, ticket.settings.k, &hits.hits);
        }
    }

    /// Finds the hits of a batch on a GPU, and sends them to those who make answers. False if it panicked: then threads
    /// of the CPU search for what is left, each query alone, so that only the one that is to blame has no answer.
    /// `meanwhile` as of [`Engine::search_meanwhile`].
    pub(super) fn batch(
        &self,
        engine: &mut Fallback<'d>,
        Batch { queries, sizes }: Batch<Ticket<'d>>,
        meanwhile: &mut dyn FnMut(),
    ) -> bool {
        let mut tickets: Vec<Ticket<'d>> = queries.into_iter().map(|query| query.work).collect();
        tickets.iter_mut().for_each(Ticket::begin);
        let all = tickets.len();
        tickets.retain(|ticket| !ticket.request.is_over());
        // those with the same mode and k are answered together, and those that are explained alone
        let mut groups: Vec<((Mode, usize, bool), Vec<Ticket<'d>>)> = Vec::new();
        for ticket in tickets {
            let Settings { mode, k, explain, .. } = ticket.settings;
            match groups.iter_mut().find(|(of, _)| !explain && *of == (mode, k, false)) {
                Some((_, group)) => group.push(ticket),
                None => groups.push(((mode, k, explain), vec![ticket])),
            }
        }
        let mut sound = true;
        for ((mode, k, _), group) in groups {
            let sizes = if group.len() == all { sizes.clone() } else { vec![group.len()] };
            if sound {
                sound = self.group(engine, group, (mode, k), &sizes, meanwhile);
            } else {
                self.queues.put(group.into_iter().map(Task::Search));
            }
        }
        sound
    }

    /// Finds the hits of queries with the same mode and k. As of [`Self::batch`].
    fn group(
        &self,
        engine: &mut Fallback<'d>,
        mut group: Vec<Ticket<'d>>,
        (mode, k): (Mode, usize),
        sizes: &[usize],
        meanwhile: &mut dyn FnMut(),
    ) -> bool {
        let asked = || group.iter().filter_map(|ticket| ticket.asked.as_ref());
        let plans: Vec<Plan> = asked().map(|asked| asked.plan.clone()).collect();
        let start = Instant::now();
        let answers = catch_unwind(AssertUnwindSafe(|| {
            asked().for_each(|asked| planted("panicwhensearched", asked.text()));
            asked().for_each(|asked| lose(engine, asked.text()));
            match &plans[..] {
                [plan] => engine.search_one(plan, mode, k),
                plans => engine.search_meanwhile(&Queries { plans, sizes, k }, mode, meanwhile),
            }
        }));
        let Ok(answers) = answers else {
            self.queues.put(group.into_iter().map(Task::Search));
            return false;
        };
        // a GPU may have been lost meanwhile
        let on_cpu = answers.as_ref().is_ok_and(|answers| answers.effort.kind() == EngineKind::Cpu);
        if let Ok(Answers { effort: Effort::Gpu(report), .. }) = &answers {
            self.counts.lists(&report.lists);
        }
        if on_cpu { &self.counts.by_cpu } else { &self.counts.by_gpu }.inc_by(plans.len() as u64);
        if plans.len() == 1 {
            let found = group.pop().and_then(|ticket| self.found_one(ticket, answers, start));
            self.queues.put(found.into_iter().map(|(ticket, hits)| Task::Answer(ticket, hits)));
            return true;
        }
        let seconds = start.elapsed().as_secs_f64();
        match self.searcher.index().settle(answers) {
            Ok(Answers { hits, effort }) => {
                self.counts.batches.observe(plans.len() as f64);
                self.counts.searches.observe(seconds);
                // the effort of one of many is not known, only whose it was
                let kind = effort.kind();
                let found = group.into_iter().zip(hits).map(|(ticket, hits)| {
                    let hits = Hits { hits, kind, effort: None, seconds };
                    self.keep(&ticket, &hits);
                    Task::Answer(ticket, hits)
                });
                self.queues.put(found);
                true
            }
            // one of them cannot be answered: which, is seen one by one
            Err(Error::Invalid { .. } | Error::Limit { .. }) => {
                let mut alone = |ticket| self.group(engine, vec![ticket], (mode, k), &[1], meanwhile);
                group.into_iter().fold(true, |sound, ticket| sound & alone(ticket))
            }
            Err(error) => {
                let why = error.to_string();
                group.iter().for_each(|ticket| ticket.request.fail(Outcome::Failed(why.clone())));
                true
            }
        }
    }

    /// Makes the answer of a query whose hits are known.
    pub(super) fn answer(&self, engines: &Engines<'d>, mut ticket: Ticket<'d>, hits: Hits) {
        let Some(asked) = ticket.asked.take() else { return };
        if ticket.request.is_over() {
            return;
        }
        let index = self.searcher.index();
        let own = ticket.settings.scores == self.settings.scores;
        let searcher = engines.other.as_ref().filter(|_| !own).unwrap_or(&engines.own).searcher();
        let Hits { hits, kind, effort, seconds } = hits;
        let found = Found { hits, effort, seconds };
        let names = |docs| self.known.names(index, docs);
        let answer = asked.answered(&ticket.settings, searcher, kind, found, &names);
        match index.settle(answer) {
            Ok(answer) => {
                let mut json = Vec::new();
                // writing to a Vec does not fail
                let _ = answer.write_json(&mut json, &ticket.settings, searcher, false);
                ticket.answer(Ok(json));
            }
            Err(error) => ticket.request.fail(Outcome::Failed(error.to_string())),
        }
    }

    fn document(&self, id: &str) -> Result<Outcome> {
        let index = self.searcher.index();
        let mut docs = index.find_id(id)?;
        if let Some(subset) = self.searcher.subset() {
            docs.retain(|&doc| subset.has(doc));
        }
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
        let (mut documents, mut bytes) = (Vec::new(), 0);
        for doc in docs.iter().take(MOST_DOCUMENTS) {
            let document = describe(doc)?;
            bytes += document["text"].as_str().map_or(0, str::len);
            if bytes > MOST_TEXT && !documents.is_empty() {
                break;
            }
            documents.push(document);
        }
        let object = serde_json::json!({ "count": docs.len(), "documents": documents });
        Ok(Outcome::Found((object.to_string() + "\n").into_bytes()))
    }

    fn stats(&self) -> Result<Outcome> {
        let index = self.searcher.index();
        let [hits, misses] = self.cache.counts();
        let queues = self.queues.waiting.counts();
        let [cpu, gpu] = queues.taken;
        let mut object = serde_json::json!({
            "name": self.place.name,
            "statistics": index.statistics(),
            "analyzer": index.manifest().analyzer.name,
            "codec": self.searcher.codec().codec().name(),
            "engine": self.engine.name(),
            "parallel": self.place.parallel,
            "texts": index.has_texts(),
            "cache": { "hits": hits, "misses": misses, "bytes": self.cache.bytes() },
            "queues": { "cpu": cpu, "gpu": gpu, "stolen": queues.stolen, "thresholds": queues.thresholds },
        });
        if let Some(deleted) = index.deleted() {
            // the statistics count them, too; answers and scores go without them
            object["deleted"] = deleted.documents().into();
        }
        Ok(Outcome::Found((object.to_string() + "\n").into_bytes()))
    }
}

/// Queries from which it pays to wake other threads, which takes some 20 us.
const MANY: usize = 16;

/// Documents of one id that are sent at most; `count` says how many there are.
const MOST_DOCUMENTS: usize = 100;

/// Bytes of their texts at most; the first text is sent whatever its length.
const MOST_TEXT: usize = 64 << 20;
