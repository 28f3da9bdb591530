//! By what steps and moves take on this machine.

use super::{Machine, Rule};

/// `learned`. Costs that are not known send nothing anywhere; [`crate::query::engine::GriffinMethods::check`] asks for
/// them before.
pub static LEARNED: Rule = Rule {
    name: "learned",
    about: "each step is where it takes less, with moving there, by what `gamut calibrate` has measured",
    paper: "this project, after Ding et al. (WWW 2009), section 9, for single steps",
    params: &[],
    by_costs: true,
    decide: |_, next| {
        let Some(costs) = next.costs else { return next.at.unwrap_or(Machine::Cpu) };
        match costs.on(Machine::Gpu, next.at) < costs.on(Machine::Cpu, next.at) {
            true => Machine::Gpu,
            false => Machine::Cpu,
        }
    },
};
