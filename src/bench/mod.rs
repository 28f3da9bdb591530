//! Measurements: each is a subcommand of `gamut bench`, says what it measures and on what data, warms
//! up first, and prints a table or machine-readable rows.

pub mod build;
pub mod codecs;
mod copier;
mod plot;
pub mod sort;

/// The middle one of some values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A bijection that scatters (the finalizer of splitmix64).
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
