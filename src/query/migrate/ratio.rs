//! By the ratio of lengths.

use super::{Machine, Rule};
use crate::base::params::{Domain, Param};

/// `ratio`. Candidates become fewer and lists longer, so the ratio never falls, and a query never comes back.
pub static RATIO: Rule = Rule {
    name: "ratio",
    about: "a query is on the GPU while the next list is less than so many times as long as what is left; then it goes on, and ends, on the CPU",
    paper: "Liu et al.: Griffin (PPoPP 2018), section 3.2",
    params: &[Param {
        name: "below",
        about: "the ratio from which on a query goes on on the CPU",
        domain: Domain::Whole { from: 0, to: 1 << 30, step: 1 },
        default: "128",
    }],
    by_costs: false,
    decide: |settings, next| {
        let ends = settings.number("below").saturating_mul(next.candidates.into());
        match u64::from(next.list) < ends && next.at != Some(Machine::Cpu) {
            true => Machine::Gpu,
            false => Machine::Cpu,
        }
    },
};
