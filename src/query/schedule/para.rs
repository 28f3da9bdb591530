//! By a threshold on the work.

use super::Batching;

/// `para`.
pub static PARA: Batching = Batching {
    name: "para",
    about: "collects queries, as they come, until their shortest lists have c postings together",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 4.1",
    parameter: ("c", "how many postings the shortest lists of a batch have at least", 1_000_000),
    pack,
};

fn pack(shortest: &[u32], threshold: u64) -> Vec<Vec<usize>> {
    let (mut batches, mut batch, mut sum) = (Vec::new(), Vec::new(), 0u64);
    for (query, &length) in shortest.iter().enumerate() {
        batch.push(query);
        sum += u64::from(length);
        if sum >= threshold {
            batches.push(std::mem::take(&mut batch));
            sum = 0;
        }
    }
    // the last queries do not wait for more
    batches.extend((!batch.is_empty()).then_some(batch));
    batches
}
