//! `random`: documents shuffled from a seed.

use super::{Family, Needs, Permutation};
use crate::base::params::{Domain, Param};

/// `random`.
pub static RANDOM: Family = Family {
    name: "random",
    about: "shuffled, the same on every machine",
    paper: None,
    params: &[Param {
        name: "seed",
        about: "the same seed gives the same shuffle",
        domain: Domain::Count { from: 0, to: u64::MAX },
        default: "",
    }],
    needs: Needs::Nothing,
    check: |_| Ok(()),
    make: |settings, documents, _| Ok(Permutation::random(documents.count(), settings.number("seed"))),
};
