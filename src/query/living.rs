//! Answers without deleted documents.
//!
//! An engine scores by what is left: number of documents, mean length and every df are without the deleted ones, and
//! bounds of scores hold for any of them ([`crate::score::BoundReader`]). The CPU lets no deleted document among the
//! best ([`super::topk::TopK::without`]). A device finds the best documents of an index as its files are. Here it is
//! asked for some more than are wanted, deleted ones are left out, and if too few are left it is asked for twice as
//! many. What comes first of more documents is what comes first of all, so the answers are those of an index that never
//! had the deleted documents.

use super::engine::{Answers, Effort, Queries};
use super::{Hit, Mode, Plan, Searcher, Work};
use crate::index::read::deleted::Deleted;
use crate::{Error, Result};
use rayon::prelude::*;

/// How many documents to ask a device for at first, to have `k` that are not deleted.
pub(super) fn first(deleted: &Deleted<'_>, documents: u64, k: usize) -> usize {
    let share = deleted.documents() as f64 / documents.max(1) as f64;
    let more = (2.0 * share * k as f64).ceil();
    // as many again can be deleted by chance, but asking twice costs less than always asking for all of them
    k.saturating_add(more as usize).min(documents as usize)
}

/// Leaves out deleted documents, and all behind the best `k`. True if more have to be asked for.
pub(super) fn retain(deleted: &Deleted<'_>, hits: &mut Vec<Hit>, asked: usize, documents: u64, k: usize) -> bool {
    let all = hits.len() < asked || asked as u64 >= documents;
    hits.retain(|hit| !deleted.has(hit.doc));
    let enough = hits.len() >= k;
    hits.truncate(k);
    !enough && !all
}

/// The best documents of several queries that are not deleted; `ask` answers them on a device.
///
/// # Errors
/// Of `ask`.
pub(super) fn of_all(
    searcher: &Searcher<'_>,
    queries: &Queries<'_>,
    mode: Mode,
    mut ask: impl FnMut(&Queries<'_>) -> Result<Answers>,
) -> Result<Answers> {
    let index = searcher.index();
    let Some(deleted) = index.deleted().filter(|_| queries.k > 0) else { return ask(queries) };
    let (documents, k) = (index.statistics().documents, queries.k);
    let mut asked = first(&deleted, documents, k);
    let mut answers = match ask(&Queries { k: asked, ..*queries }) {
        // a method of the device takes no more documents than were wanted
        Err(Error::Limit { .. }) if asked > k => {
            asked = k;
            ask(queries)?
        }
        answers => answers?,
    };
    let mut few: Vec<usize> = (0..queries.plans.len()).collect();
    few.retain(|&query| retain(&deleted, &mut answers.hits[query], asked, documents, k));
    while !few.is_empty() {
        asked = asked.saturating_mul(2).min(documents as usize);
        let plans: Vec<Plan> = few.iter().map(|&query| queries.plans[query].clone()).collect();
        let again = match ask(&Queries { plans: &plans, sizes: &[plans.len()], k: asked }) {
            Err(Error::Limit { .. }) => {
                let found = plans.par_iter().map(|plan| searcher.search(plan, mode, k)).collect::<Result<Vec<_>>>()?;
                few.iter().zip(found).for_each(|(&query, hits)| answers.hits[query] = hits);
                answers.effort.add(Effort::Cpu(vec![Work::default(); few.len()]), &few, queries.plans.len());
                return Ok(answers);
            }
            again => again?,
        };
        few.iter().zip(again.hits).for_each(|(&query, hits)| answers.hits[query] = hits);
        answers.effort.add(again.effort, &few, queries.plans.len());
        few.retain(|&query| retain(&deleted, &mut answers.hits[query], asked, documents, k));
    }
    Ok(answers)
}
