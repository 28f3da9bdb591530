//! `input`: documents as they came in.

use super::family::lacking;
use super::{Family, Needs, Permutation, SYNTHETIC};

/// `input`.
pub static INPUT: Family = Family {
    name: "input",
    about: "by place in the input",
    paper: None,
    params: &[],
    needs: Needs::Nothing,
    check: |_| Ok(()),
    make: |_, documents, _| match (documents.input_places(), documents.order()) {
        (Some(places), _) => Permutation::checked(places.to_vec())
            .ok_or_else(|| lacking("input", "input.bin is damaged: two documents have one place; see `gamut verify`")),
        (None, "input" | SYNTHETIC) => Ok(Permutation::identity(documents.count())),
        (None, _) => Err(lacking(
            "input",
            "this index was reordered by an early gamut, which did not store the order that its input had; give the \
             inverse of the permutation that was written then, as file:PATH",
        )),
    },
};
