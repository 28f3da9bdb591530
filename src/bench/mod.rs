//! Measurements.

pub mod sort;
