//! Documents that have all terms, ranked: by bounds while they are found, or afterwards.

mod daat;
mod rank;

pub(super) use daat::daat;
pub(super) use rank::rank;
