//! Measurements: each is a subcommand of `gamut bench`, or `gamut calibrate`, names its figures and its data, warms up
//! first, and prints a table or machine-readable rows.

pub(crate) mod beside;
pub mod build;
pub mod calibrate;
pub mod codecs;
mod copier;
pub mod inflate;
pub mod intersect;
mod orders;
mod outputs;
#[doc = include_str!("../../docs/papers.md")]
pub mod papers;
mod plot;
pub mod query;
pub mod read;
mod rounds;
pub mod sort;
mod statistics;
pub(crate) mod table;
pub mod transfer;

use crate::base::kept;
use crate::gpu::{Choice, Gpu, GpuError};

/// The engine that answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    Cpu,
    Gpu,
}

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

/// `64M` → 64,000,000; for clap.
fn count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let count = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit)).filter(|&count| count > 0);
    count.ok_or_else(|| "give a number over 0, such as 5000, 64M or 1G".to_owned())
}

/// The device called `name`; for "auto" `None`, with a message, if there is no hardware GPU.
fn hardware_gpu(name: &str) -> anyhow::Result<Option<Gpu>> {
    match Gpu::open_with_cache(&Choice::parse(name), kept::folder().as_deref()) {
        Ok(gpu) => Ok(Some(gpu)),
        Err(GpuError::NoAdapter | GpuError::OnlySoftware { .. }) if name == "auto" => {
            say("no hardware GPU, so the CPU only; --device names a software one");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn say(text: &str) {
    tell!("gamut: {text}");
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn test_counts_are_read() {
        for (text, expected) in [("7", 7), ("5k", 5_000), ("64M", 64_000_000), ("1G", 1_000_000_000)] {
            assert_eq!(count(text), Ok(expected));
        }
        for bad in ["", "M", "0", "-1", "1.5M", "1T", "99999999999G", "é"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }
}
