//! The n-th least key of a node, by all threads that share it.

use super::node::each;

/// Keys of a sample.
const SAMPLE: usize = if cfg!(test) { 1 << 6 } else { 1 << 12 };

/// The `n`-th least of different keys, from 0 on. So many tasks share the work; `room` is for what is left of it.
pub(super) fn nth(keys: &[u64], n: usize, room: &mut Vec<u64>, tasks: usize) -> u64 {
    room.clear();
    if tasks > 1 {
        let [low, high] = around(keys, n);
        let parts = keys.chunks(keys.len().div_ceil(tasks)).collect();
        let parts: Vec<(usize, Vec<u64>)> = each(parts, |keys: &[u64]| {
            let near = keys.iter().copied().filter(|key| (low..high).contains(key)).collect();
            (keys.iter().filter(|key| **key < low).count(), near)
        });
        let below: usize = parts.iter().map(|(below, _)| below).sum();
        parts.iter().for_each(|(_, near)| room.extend_from_slice(near));
        if (below..below + room.len()).contains(&n) {
            return *room.select_nth_unstable(n - below).1;
        }
        room.clear();
    }
    room.extend_from_slice(keys);
    *room.select_nth_unstable(n).1
}

/// A range of keys that most likely has the `n`-th least one, by a sample.
fn around(keys: &[u64], n: usize) -> [u64; 2] {
    let mut sample: Vec<u64> = keys.iter().copied().step_by((keys.len() / SAMPLE).max(1)).collect();
    sample.sort_unstable();
    let at = (n as u64 * sample.len() as u64 / keys.len() as u64) as usize;
    let low = at.checked_sub(SAMPLE / 32).map_or(0, |at| sample[at]);
    [low, sample.get(at + SAMPLE / 32).copied().unwrap_or(u64::MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    /// Also where the sample says nothing: it is of every so-and-so-manieth key, and these may be the least ones.
    #[test]
    fn test_any_number_of_tasks_finds_what_sorting_finds() {
        let mut random = SplitMix64::new(3);
        for n in [1usize, 2, 63, 64, 65, 1000, 5000] {
            let every = (n / SAMPLE).max(1);
            let any: Vec<u64> = (0..n as u64).map(|i| random.next() << 32 | i).collect();
            let falling: Vec<u64> = (0..n as u64).rev().collect();
            let misleading = (0..n).map(|i| if i % every == 0 { i as u64 } else { (1 << 40) + i as u64 }).collect();
            for keys in [any, falling, misleading] {
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                for at in [0, n / 3, n / 2, n - 1] {
                    for tasks in [1, 2, 7] {
                        assert_eq!(nth(&keys, at, &mut vec![5; 3], tasks), sorted[at], "{at} of {n}");
                    }
                }
            }
        }
    }
}
