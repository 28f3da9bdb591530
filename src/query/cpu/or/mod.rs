//! Documents that have any term, ranked: one registry, one file per method.

mod block_max_maxscore;
mod block_max_wand;
mod exhaustive;
mod maxscore;
mod ranges;
mod wand;

use super::super::named;
use super::{Bm25Scorer, ImpactScorer, Scored, Scorer, Sum};
use crate::Result;
use crate::index::END;
use crate::query::topk::{Hit, TopK};

pub(super) use ranges::RANGES;

/// A way to rank the documents that have any term. All give the same answer.
pub struct OrMethod {
    /// What it is called.
    pub name: &'static str,
    /// What papers and other engines call it for short, or the name again.
    pub short: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// Does it.
    pub(super) run: Run,
}

/// Pushes the documents that can be among the best; a method that does not go by docID has to push those that score as much as the
/// threshold, too. There is at least one term; terms may be put in another order.
pub(super) struct Run {
    pub(super) bm25: fn(&mut [Scored<'_>], &Bm25Scorer<'_>, &mut TopK),
    pub(super) impacts: fn(&mut [Scored<'_>], &ImpactScorer, &mut TopK),
    /// Whether it has use for the tables of long lists.
    pub(super) tables: bool,
}

/// Compiles a method for both ways to make up scores.
macro_rules! run {
    ($run:ident) => {
        run!($run, tables: false)
    };
    ($run:ident, tables: $tables:literal) => {
        Run {
            bm25: |terms, scorer, top| $run(terms, scorer, top),
            impacts: |terms, scorer, top| $run(terms, scorer, top),
            tables: $tables,
        }
    };
}
use run;

/// All methods, simple ones first. Everything that offers a choice walks this slice.
pub static OR_METHODS: &[&OrMethod] = &[
    &exhaustive::EXHAUSTIVE,
    &maxscore::MAXSCORE,
    &wand::WAND,
    &block_max_wand::BLOCK_MAX_WAND,
    &block_max_maxscore::BLOCK_MAX_MAXSCORE,
    &ranges::RANGES,
];

/// The method called `name`, or so for short.
///
/// # Errors
/// [`crate::Error::UnknownName`], which lists the choices.
pub fn or_method(name: &str) -> Result<&'static OrMethod> {
    named("method for OR", OR_METHODS, |row| [row.name, row.short], name).copied()
}

/// below[i]: what the first i terms can add up to.
fn bounds_below(terms: &[Scored<'_>]) -> Vec<f32> {
    let mut below = vec![0.0];
    for term in terms {
        below.push(below[below.len() - 1] + term.bound);
    }
    below
}
