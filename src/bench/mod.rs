//! Measurements: each is a subcommand of `gamut bench`, says what it measures and on what data, warms
//! up first, and prints a table or machine-readable rows.

pub mod build;
pub mod sort;
