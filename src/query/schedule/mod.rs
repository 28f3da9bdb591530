//! Which queries go to the device together: one registry, one file per method.
//!
//! Queries differ by the length of their shortest list: no intersection has more documents, and each of the list's
//! docIDs is looked up. Batches do not change answers; they change throughput and the time that a query waits.

mod buckets;
mod in_order;
mod para;

#[cfg(test)]
mod tests;

pub(in crate::query) use buckets::bucket;

use super::Plan;
use crate::base::choice::named;
use crate::{Error, Result};

/// A way to pack queries into batches.
pub struct Batching {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// Its parameter: name, meaning, and default.
    pub parameter: (&'static str, &'static str, u64),
    /// The batches: places of `shortest`, each once, none empty. `shortest` has the length of each query's shortest
    /// list; the number is the parameter, at least 1.
    pack: fn(shortest: &[u32], parameter: u64) -> Vec<Vec<usize>>,
}

/// All methods, simple ones first. Everything that offers a choice walks this slice.
pub static BATCHING: &[&Batching] = &[&in_order::ORDER, &para::PARA, &buckets::BUCKETS];

/// A method and its parameter.
#[derive(Clone, Copy)]
pub struct Schedule {
    method: &'static Batching,
    parameter: u64,
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}={}", self.method.name, self.method.parameter.0, self.parameter)
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self { method: &in_order::ORDER, parameter: in_order::ORDER.parameter.2 }
    }
}

impl Schedule {
    /// Reads `para`, `para:c=1M` …
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a method or a parameter, [`Error::Invalid`] for a value that is no count.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, setting) = text.split_once(':').unwrap_or((text, ""));
        let method = named("way to make batches", BATCHING, |row| [row.name; 2], name)?;
        let (known, about, default) = method.parameter;
        if setting.is_empty() {
            return Ok(Self { method, parameter: default });
        }
        let (parameter, value) = setting.split_once('=').unwrap_or((setting, ""));
        if parameter != known {
            let choices = known.to_owned();
            return Err(Error::UnknownName {
                kind: "parameter of this way to make batches",
                name: parameter.to_owned(),
                choices,
            });
        }
        match count(value).filter(|&value| value > 0) {
            Some(parameter) => Ok(Self { method, parameter }),
            None => Err(Error::Invalid {
                what: format!("{name}:{setting}"),
                why: format!("{known} is {about}: a count from 1 on, as 1024, 128K or 1M"),
            }),
        }
    }

    /// The batches, in the order of answering: places of `plans`, each once.
    pub fn batches(&self, plans: &[Plan]) -> Vec<Vec<usize>> {
        let shortest: Vec<u32> = plans.iter().map(shortest).collect();
        (self.method.pack)(&shortest, self.parameter)
    }
}

/// The length of a query's shortest list; 0 if it has none.
fn shortest(plan: &Plan) -> u32 {
    plan.terms.iter().map(|term| term.info.df).min().unwrap_or(0)
}

/// Reads `1024`, `128K`, `1M`: powers of 1000.
fn count(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A batch for every so many queries, in their order.
fn in_pieces(queries: impl IntoIterator<Item = usize>, size: u64) -> Vec<Vec<usize>> {
    let queries: Vec<usize> = queries.into_iter().collect();
    queries.chunks(usize::try_from(size).unwrap_or(usize::MAX)).map(<[usize]>::to_vec).collect()
}
