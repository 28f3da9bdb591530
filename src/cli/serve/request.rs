//! A request that waits for its answers, and its queries on their way through the threads.

use crate::cli::query::{Asked, Settings};
use crate::query::Hit;
use crate::query::engine::{Effort, EngineKind};
use crate::serve::{Desk, Outcome};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// An answer in JSON, or what is wrong with the query.
pub(super) type Answer = std::result::Result<Vec<u8>, String>;

struct Open {
    answers: Vec<Option<Answer>>,
    left: usize,
    /// None once it was used.
    reply: Option<oneshot::Sender<Outcome>>,
}

/// Somebody who waits for the answers to some queries.
pub(super) struct Request {
    open: Mutex<Open>,
    /// After this nobody waits any more.
    pub(super) deadline: Instant,
}

impl Request {
    pub(super) fn new(queries: usize, deadline: Instant, reply: oneshot::Sender<Outcome>) -> Arc<Self> {
        let open = Open { answers: vec![None; queries], left: queries, reply: Some(reply) };
        Arc::new(Self { open: Mutex::new(open), deadline })
    }

    /// One query has its answer; with the last one the request has all of them.
    pub(super) fn answer(&self, number: usize, answer: Answer) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.answers[number].replace(answer).is_none() {
            open.left -= 1;
        }
        if open.left == 0
            && let Some(reply) = open.reply.take()
        {
            let answers = std::mem::take(&mut open.answers).into_iter().flatten().collect();
            // whoever waited may have left
            let _ = reply.send(Outcome::Answers(answers));
        }
    }

    /// The request gets this instead of answers, unless it has them.
    pub(super) fn fail(&self, outcome: Outcome) {
        let reply = self.open.lock().unwrap_or_else(PoisonError::into_inner).reply.take();
        reply.into_iter().for_each(|reply| _ = reply.send(outcome.clone()));
    }

    /// Whether nobody waits for answers any more. Whoever waited for too long is told so.
    pub(super) fn is_over(&self) -> bool {
        if self.deadline <= Instant::now() {
            self.fail(Outcome::Late);
        }
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// A query with its terms looked up, on its way to an answer. If a thread drops it without one, its request fails.
pub(super) struct Ticket<'d> {
    desk: &'d Desk,
    pub(super) request: Arc<Request>,
    /// Which query of the request it is.
    number: usize,
    pub(super) settings: Settings,
    /// Taken by whoever makes the answer.
    pub(super) asked: Option<Asked>,
    /// It waits for a processor.
    waits: bool,
    done: bool,
}

impl<'d> Ticket<'d> {
    /// The desk has been told to hold it.
    pub(super) fn new(
        desk: &'d Desk,
        (request, number): (Arc<Request>, usize),
        settings: Settings,
        asked: Asked,
    ) -> Self {
        Self { desk, request, number, settings, asked: Some(asked), waits: true, done: false }
    }

    /// Somebody has taken it.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.desk.begin();
        }
    }

    /// Has its answer.
    pub(super) fn answer(mut self, answer: Answer) {
        self.done = true;
        self.request.answer(self.number, answer);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.begin();
        self.desk.end();
        if !self.done {
            self.request.fail(Outcome::Failed("a thread broke off; the log says why".to_owned()));
        }
    }
}

/// What was found for a query.
pub(super) struct Hits {
    pub(super) hits: Vec<Hit>,
    /// Who found them.
    pub(super) kind: EngineKind,
    /// If it is known.
    pub(super) effort: Option<Effort>,
    pub(super) seconds: f64,
}
