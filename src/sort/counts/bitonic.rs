//! The bitonic network's counts, in closed form.
//!
//! A thread's number goes to bits of local indexes, and those to bits of indexes of the block. So what a group touches
//! beyond its first key's segment depends only on how many of its thread bits end up at bit log k and above. The same
//! holds for banks: a slot is a sum of parts that share no bits. Every group of an access counts what the first does.

use super::{Counts, Machine};
use crate::sort::bitonic::Tuning;
use crate::sort::gamma::{Gamma, schedule};
use crate::sort::network::{KeyWords, Move, Shape, slot};

pub(super) fn count(tuning: Tuning, words: u32, keys: usize, log_k: u32) -> Counts {
    let Tuning { log_sigma, log_regs, .. } = tuning;
    let log_n = keys.next_power_of_two().ilog2().max(log_sigma);
    // threads of a workgroup, and of a group
    let log_threads = log_sigma - log_regs;
    let log_group = log_k.min(log_threads);
    // accesses of one kind, all parts and registers taken together
    let groups = 1u64 << (log_n - log_group);
    let held = if words == 1 { KeyWords::Short } else { tuning.words };
    let mut counts = Counts::default();
    for superstep in schedule(log_n, log_sigma, tuning.log_k) {
        for step in Shape::of(&superstep, log_regs, held, tuning.log_k).moves() {
            counts += match step {
                Move::Load(layout) | Move::Store(layout) => {
                    let transactions = groups << outside(superstep.gamma, layout, log_regs, log_group, log_k);
                    Counts { transactions, ..Counts::default() }
                }
                Move::Change { from, to } => {
                    let waits = |layout| conflicts(layout, log_regs, log_group, log_k);
                    let contention = groups * u64::from(words) * (waits(from) + waits(to));
                    Counts { contention, ..Counts::default() }
                }
            };
        }
    }
    counts
}

/// The local index of a thread's first key.
pub(super) fn local(layout: u32, log_regs: u32, thread: u64) -> u64 {
    (thread >> layout) << (layout + log_regs) | thread & ((1 << layout) - 1)
}

/// How many of a group's thread bits tell segments apart.
fn outside(gamma: Gamma, layout: u32, log_regs: u32, log_group: u32, log_k: u32) -> u32 {
    let index = |bit: u32| gamma.index(0, local(layout, log_regs, 1 << bit));
    (0..log_group).filter(|&bit| index(bit) >> log_k > 0).count() as u32
}

/// What a group waits for in one access to local memory.
fn conflicts(layout: u32, log_regs: u32, log_group: u32, log_k: u32) -> u64 {
    let mut machine = Machine::new(log_k);
    machine.local(1 << log_group, |thread| Some(slot(local(layout, log_regs, thread.into()), log_regs)));
    machine.counts.contention
}
