//! Whatever the lists are.

use super::{Machine, Rule};
use crate::base::params::{Domain, Param};

/// `fixed`. It shows what steps and moves cost, both ways.
pub static FIXED: Rule = Rule {
    name: "fixed",
    about: "every step is on one processor, cpu or gpu, or they take turns, which shows what moving costs: gpu-cpu or cpu-gpu",
    paper: "this project, to compare rules with",
    params: &[Param {
        name: "at",
        about: "where steps run; of two processors the first has the first step",
        domain: Domain::Words(&["cpu", "gpu", "gpu-cpu", "cpu-gpu"]),
        default: "gpu",
    }],
    by_costs: false,
    decide: |settings, next| match (settings.get("at"), next.at) {
        (0, _) | (3, None) | (2 | 3, Some(Machine::Gpu)) => Machine::Cpu,
        _ => Machine::Gpu,
    },
};
