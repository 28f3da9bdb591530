//! By the number of candidates.

use super::{Machine, Rule};
use crate::base::params::{Domain, Param};

/// `length`. Candidates only become fewer, so a query never comes back.
pub static LENGTH: Rule = Rule {
    name: "length",
    about: "a query is on the GPU while at least so many docIDs are left; then it goes on, and ends, on the CPU",
    paper: "this project's measurements: on a large GPU a step takes at least 0.13 ms, whatever the ratio",
    params: &[Param {
        name: "least",
        about: "how many docIDs a query on the GPU has at least",
        domain: Domain::Whole { from: 0, to: 1 << 30, step: 1 },
        default: "1000",
    }],
    by_costs: false,
    decide: |settings, next| {
        let enough = next.candidates >= settings.get("least");
        if enough && next.at != Some(Machine::Cpu) { Machine::Gpu } else { Machine::Cpu }
    },
};
