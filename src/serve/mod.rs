//! An index behind HTTP: a search page, an API in JSON, and figures for monitoring.
//!
//! | file | its one job |
//! |---|---|
//! | `desk` | the bounded queue between connections and workers |
//! | `cache` | hits of queries that came before (Ding et al., figure 1), and names of documents |
//! | `resident` | an open index, and another one in its place without a lost request |
//! | `http` | connections: limits, time, a graceful end |
//! | `routes` | a request → work for the desk → a response |
//! | `ask` | what a request to `/search` asks for |
//! | `guard` | which requests are let in; headers of every response |
//! | `page` | the search page |
//! | `counts` | counters for `/metrics` |
//! | `log` | a line a request |
//!
//! Connections run on tokio and never search. They put [`Job`]s on a [`Desk`], and threads of the index's own take them
//! off. If the desk is full, a request is turned away at once: the queue has a bound, so waiting has one, too.

mod ask;
mod cache;
mod counts;
mod desk;
mod guard;
mod http;
mod log;
mod page;
mod resident;
mod routes;

#[cfg(test)]
mod tests;

pub use ask::{Ask, Limits, Usual};
pub use cache::{NameCache, ResultCache};
pub use counts::Counts;
pub use desk::{Desk, Job, Offer, Outcome, Turn, Work};
pub use guard::{Guard, Refused};
pub use http::{Listening, Options, bind, run};
#[cfg(test)]
pub(crate) use log::tests::Kept;
pub use log::{Log, LogForm};
pub use resident::{Opener, Residents, Unchanged};
