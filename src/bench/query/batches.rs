//! Many queries at once: throughput, and how long each waits for its answer, by how queries are packed into batches (Ao
//! et al., section 4.1 and figures 5 and 6; Wu et al., figures 8 to 11).

use std::time::Instant;

use crate::bench::statistics::{Summary, Take};
use crate::query::Plan;

/// Runs batches one after the other, `rounds` times after one that does not count. Returns each query's wait from the
/// start of its batch, and queries a second. `None` without a query.
///
/// # Errors
/// Errors of `run`.
pub(super) fn measure(
    batches: &[Vec<Plan>],
    rounds: u32,
    take: Take,
    mut run: impl FnMut(&[Plan]) -> anyhow::Result<()>,
) -> anyhow::Result<Option<(Summary, f64)>> {
    let mut seconds = vec![Vec::new(); batches.len()];
    for round in 0..=rounds {
        for (batch, seconds) in batches.iter().zip(&mut seconds) {
            let start = Instant::now();
            run(batch)?;
            if round > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    let picked: Vec<f64> = seconds.iter().map(|seconds| take.of(seconds)).collect();
    let waits: Vec<f64> =
        batches.iter().zip(&picked).flat_map(|(batch, &seconds)| std::iter::repeat_n(seconds, batch.len())).collect();
    Ok(Summary::of(&waits).map(|summary| (summary, waits.len() as f64 / picked.iter().sum::<f64>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_every_query_waits_for_its_batch() {
        let mut ran = Vec::new();
        let batches = [vec![Plan::default(); 3], vec![Plan::default()]];
        let (summary, per_second) = measure(&batches, 2, Take::Median, |batch| {
            ran.push(batch.len());
            Ok(())
        })
        .unwrap()
        .unwrap();
        assert_eq!(ran, [3, 1, 3, 1, 3, 1], "two rounds after one that does not count");
        assert_eq!(summary.count, 4);
        assert!(per_second > 0.0);
        assert!(measure(&[], 1, Take::Fastest, |_| Ok(())).unwrap().is_none());
    }
}
