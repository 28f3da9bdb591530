//! `input`: documents as they came in.

use super::family::lacking;
use super::{Family, Needs, Permutation};

/// `input`.
pub static INPUT: Family = Family {
    name: "input",
    about: "by place in the input",
    paper: None,
    params: &[],
    needs: Needs::Nothing,
    check: |_| Ok(()),
    make: |_, documents, _| match documents.order() {
        "input" => Ok(Permutation::identity(documents.count())),
        _ => Err(lacking(
            "input",
            "an index does not know the order that its input had; give the inverse of the permutation that was \
             written when it was reordered, as file:PATH",
        )),
    },
};
