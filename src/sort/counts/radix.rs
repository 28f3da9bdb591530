//! The counts of both radix sorts: each pass is replayed from the digits of its tiles.

use super::{Counts, Machine};
use crate::sort::radix::{self, Team, Tuning};
use crate::sort::radix_split::{BITS, SPAN, THREADS};

/// For each key, its place once the pass has sorted them by the digit, and their order then.
fn places(keys: &[u64], digit: impl Fn(u64) -> usize, radix: usize) -> Vec<usize> {
    let mut next = vec![0; radix];
    keys.iter().for_each(|&key| next[digit(key)] += 1);
    let mut before = 0;
    for count in &mut next {
        before += std::mem::replace(count, before);
    }
    let place = |&key: &u64| {
        let next = &mut next[digit(key)];
        *next += 1;
        *next - 1
    };
    keys.iter().map(place).collect()
}

fn digit(key: u64, shift: u32, bits: u32) -> usize {
    (key >> shift & ((1 << bits) - 1)) as usize
}

fn moved(keys: &[u64], places: &[usize]) -> Vec<u64> {
    let mut out = vec![0; keys.len()];
    keys.iter().zip(places).for_each(|(&key, &place)| out[place] = key);
    out
}

/// [`crate::sort::radix`]: a pass reads the keys to count their digits, reads them again, sorts each tile in local
/// memory, and writes it. Only digits in which keys differ take a pass.
pub(super) fn count(tuning: Tuning, words: u32, keys: &[u64], log_k: u32) -> Counts {
    let mut machine = Machine::new(log_k);
    let mut keys = keys.to_vec();
    let varying = keys.iter().fold(0, |or, key| or | key) & !keys.iter().fold(u64::MAX, |and, key| and & key);
    let span = tuning.span_keys(keys.len()) as usize;
    for shift in radix::digits(varying, tuning.bits) {
        let digit = |key| digit(key, shift, tuning.bits);
        let places = places(&keys, digit, 1 << tuning.bits);
        for first in (0..keys.len()).step_by(span) {
            let end = keys.len().min(first + span);
            count_span(&mut machine, first as u64, end as u64);
            for begin in (first..end).step_by(tuning.tile() as usize) {
                let tile = begin..end.min(begin + tuning.tile() as usize);
                scatter_tile(&mut machine, tuning, words, begin as u64, &keys[tile.clone()], &places[tile], digit);
            }
        }
        keys = moved(&keys, &places);
    }
    machine.counts
}

/// The counting kernel reads whole rows, and at the end of a span what is there.
fn count_span(machine: &mut Machine, begin: u64, end: u64) {
    for row in (begin..end).step_by(radix::THREADS as usize) {
        machine.device(radix::THREADS, |thread| Some(row + u64::from(thread)).filter(|&at| at < end));
    }
}

fn scatter_tile(
    machine: &mut Machine,
    tuning: Tuning,
    words: u32,
    begin: u64,
    keys: &[u64],
    places: &[usize],
    digit: impl Fn(u64) -> usize,
) {
    let Tuning { threads, items, .. } = tuning;
    let filled = keys.len();
    // the key of a thread's item, and where items go: those beyond the last key stay behind all keys
    let read = |thread: u32, item: u32| match tuning.team {
        Team::Subgroup { min, .. } => thread / min * min * items + thread % min + item * min,
        Team::Alone => thread * items + item,
    };
    let mut order: Vec<usize> = (0..filled).collect();
    order.sort_by_key(|&i| digit(keys[i]));
    let mut to: Vec<u64> = (0..u64::from(tuning.tile())).collect();
    order.iter().enumerate().for_each(|(place, &i)| to[i] = place as u64);
    for item in 0..items {
        machine.device(threads, |thread| {
            let at = read(thread, item);
            Some(begin + u64::from(at)).filter(|_| (at as usize) < filled)
        });
    }
    for word in 0..words {
        for item in 0..items {
            machine.local(threads, |thread| Some(to[read(thread, item) as usize]));
        }
        for item in 0..items {
            let at = |thread: u32| thread + item * threads;
            // the last word is read only where a key is
            machine.local(threads, |thread| {
                Some(u64::from(at(thread))).filter(|_| word == 0 || (at(thread) as usize) < filled)
            });
        }
    }
    for item in 0..items {
        machine.device(threads, |thread| order.get((thread + item * threads) as usize).map(|&i| places[i] as u64));
    }
}

/// [`crate::sort::radix_split`]: a pass sorts each span in local memory by binary splits, writes it back, and copies it
/// to its places. Every digit takes a pass.
pub(super) fn count_split(words: u32, keys: &[u64], log_k: u32) -> Counts {
    let mut machine = Machine::new(log_k);
    let mut keys = keys.to_vec();
    for shift in (0..32 * words).step_by(BITS as usize) {
        let digit = |key| digit(key, shift, BITS);
        let places = places(&keys, digit, 1 << BITS);
        for begin in (0..keys.len()).step_by(SPAN as usize) {
            let end = keys.len().min(begin + SPAN as usize);
            split_span(&mut machine, words, begin as u64, &keys[begin..end], &places[begin..end], digit);
        }
        keys = moved(&keys, &places);
    }
    machine.counts
}

fn split_span(
    machine: &mut Machine,
    words: u32,
    begin: u64,
    keys: &[u64],
    places: &[usize],
    digit: impl Fn(u64) -> usize,
) {
    let items = SPAN / THREADS;
    let row = |thread: u32, item: u32| u64::from(thread + item * THREADS);
    let filled = keys.len() as u64;
    // digits of the span, and behind it those of the greatest key, with the key that each belongs to
    let beyond = digit(u64::MAX);
    let mut span: Vec<(usize, usize)> =
        (0..SPAN as usize).map(|i| (keys.get(i).map_or(beyond, |&k| digit(k)), i)).collect();
    for item in 0..items {
        machine.device(THREADS, |thread| Some(begin + row(thread, item)).filter(|_| row(thread, item) < filled));
        for _ in 0..words {
            machine.local(THREADS, |thread| Some(row(thread, item)));
        }
    }
    for bit in 0..BITS {
        let one = |&(digit, _): &(usize, usize)| digit >> bit & 1 == 1;
        let split: Vec<_> = span.iter().filter(|x| !one(x)).chain(span.iter().filter(|x| one(x))).copied().collect();
        let mut to = vec![0; SPAN as usize];
        split.iter().enumerate().for_each(|(place, &(_, i))| to[i] = place as u64);
        let own = |thread: u32, item: u32| u64::from(thread * items + item);
        for item in 0..items {
            for _ in 0..words {
                machine.local(THREADS, |thread| Some(own(thread, item)));
                machine.local(THREADS, |thread| Some(to[span[own(thread, item) as usize].1]));
            }
        }
        span = split;
    }
    for item in 0..items {
        for _ in 0..words {
            machine.local(THREADS, |thread| Some(row(thread, item)));
        }
        // back to the span, from there again, and to its place
        let at = |thread: u32| Some(row(thread, item)).filter(|&i| i < filled);
        machine.device(THREADS, |thread| at(thread).map(|i| begin + i));
        machine.device(THREADS, |thread| at(thread).map(|i| begin + i));
        machine.device(THREADS, |thread| at(thread).map(|i| places[span[i as usize].1] as u64));
    }
}
