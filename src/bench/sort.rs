//! `gamut bench sort`: every sorter on blocks of keys, after Capannini et al., section 6.
//!
//! **What is measured**: keys a second of the sort alone (device timestamps; the host's clock for the CPU), the wall
//! time with both transfers, and the ratio to the time of the sort's passes over memory at the speed of a copy kernel.
//! **Data**: keys of several distributions, from a fixed seed. **How**: first come sorts that do not count, and on a
//! GPU half a second or more of a copy kernel without a pause, until it copies as fast as in the beginning. A card that
//! idled during the processor's turn is three to four times slower, and does not hurry up for sorts with transfers
//! between them. Then come as many sorts as asked for, each on fresh keys and each result compared with
//! `sort_unstable`'s. Medians.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use rayon::prelude::*;

use super::copier::Copier;
use super::mix;
use crate::gpu::{Choice, Gpu};
use crate::sort::{SORTERS, SortTimes, Sorter};

/// Sort blocks of keys with every sorter, check the results, and compare.
///
/// Gkeys/s is by the device's own clock, wall includes the transfers, floor is the share of the speed at
/// which the sort's bytes could be copied. Medians, after a warm-up that waits for the GPU's clocks.
///
/// Example: gamut bench sort --from 26 --to 26 --sorters bitonic,radix
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Smallest block, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=31))]
    from: u32,
    /// Largest block, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 22, value_parser = clap::value_parser!(u32).range(0..=31))]
    to: u32,
    /// From one size to the next, in powers of two
    #[arg(long, value_name = "LOG2", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=31))]
    step: u32,
    /// Sorters to measure, comma-separated [default: all that this machine can run]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    sorters: Vec<String>,
    /// Distributions of keys, comma-separated: uniform, gaussian, zipf, sorted, reversed, equal, crawl
    #[arg(long, value_delimiter = ',', value_name = "NAME", default_value = "uniform,crawl")]
    distributions: Vec<String>,
    /// Sorts that count, per line of the table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Seconds of work that does not count, before the sorts that do
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    warm_up: f64,
    /// GPU to use, by name or index; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Write the table as CSV, too
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// One line of the table.
#[derive(Clone, Debug, serde::Serialize)]
struct Line {
    sorter: &'static str,
    keys: u64,
    distribution: &'static str,
    /// Keys a second of the sort alone, in 10^9; `None` if there was nothing to sort.
    gkeys_per_second: Option<f64>,
    /// Keys a second with transfers, in 10^9.
    gkeys_per_second_wall: f64,
    /// Median seconds.
    sort: f64,
    upload: f64,
    download: f64,
    /// Time of the passes at the speed of a copy, over time taken; `None` on the CPU.
    share_of_memory_floor: Option<f64>,
}

/// A distribution of keys.
struct Distribution {
    name: &'static str,
    /// Bits that are already sorted in keys that agree above them.
    sorted_low_bits: u32,
    /// Key `i` from 64 random bits and `i`.
    key: fn(u64, u64) -> u64,
}

const DISTRIBUTIONS: &[Distribution] = &[
    Distribution { name: "uniform", sorted_low_bits: 0, key: |random, _| random },
    Distribution { name: "gaussian", sorted_low_bits: 0, key: |random, _| (0..4).map(|i| mix(random ^ i) >> 2).sum() },
    Distribution { name: "zipf", sorted_low_bits: 0, key: |random, _| zipf(random) << 32 | mix(random) >> 32 },
    Distribution { name: "sorted", sorted_low_bits: 0, key: |_, i| i << 16 },
    Distribution { name: "reversed", sorted_low_bits: 0, key: |_, i| u64::MAX - (i << 16) },
    Distribution { name: "equal", sorted_low_bits: 0, key: |_, _| 0x0123_4567_89ab_cdef },
    // the keys of a build: terms by frequency, documents in order
    Distribution { name: "crawl", sorted_low_bits: 32, key: |random, i| zipf(random) << 32 | (i >> 8) << 8 | 1 },
];

/// One of 2^22 terms, the r-th with a probability near 1/r.
fn zipf(random: u64) -> u64 {
    (22.0 * (random >> 11) as f64 / (1u64 << 53) as f64).exp2() as u64 - 1
}

impl Distribution {
    fn keys(&self, n: usize) -> Vec<u64> {
        let random = |i: u64| mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6761_6d75);
        (0..n as u64).into_par_iter().map(|i| (self.key)(random(i), i)).collect()
    }
}

/// Measures, and prints a table or JSON.
///
/// # Errors
/// Unknown names, no such device, a file that cannot be written, or a wrong result.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "results go to stdout, remarks to stderr")]
pub fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.from <= args.to, "--from {} is over --to {}", args.from, args.to);
    let distributions = args
        .distributions
        .iter()
        .map(|name| {
            DISTRIBUTIONS.iter().find(|d| d.name == *name).with_context(|| {
                let all: Vec<_> = DISTRIBUTIONS.iter().map(|d| d.name).collect();
                format!("unknown distribution \"{name}\"; there are: {}", all.join(", "))
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let csv = args
        .csv
        .as_ref()
        .map(|path| std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display())))
        .transpose()?;
    let gpu = match Gpu::open(&Choice::parse(&args.device)) {
        Ok(gpu) => Some(gpu),
        Err(error) if args.device == "auto" && wanted(args, true).is_empty() => {
            eprintln!("gamut: CPU only: {error}");
            None
        }
        Err(error) => return Err(error.into()),
    };
    let copier = gpu.as_ref().map(Copier::new).transpose()?;
    let bandwidth = copier.as_ref().map(|c| c.bytes_per_second(0.7)).transpose()?;
    let lines = measure(args, &distributions, copier.as_ref(), bandwidth)?;
    if args.json {
        let device = gpu.as_ref().map(Gpu::report);
        let report = serde_json::json!({ "device": device, "copy_bytes_per_second": bandwidth, "lines": lines });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        if let (Some(gpu), Some(bandwidth)) = (&gpu, bandwidth) {
            let report = gpu.report();
            println!("device: {} ({}), copies {:.0} GB/s read + written", report.name, report.driver, bandwidth / 1e9);
        }
        print_table(&lines);
    }
    if let Some(file) = csv {
        write_csv(file, &lines).context("cannot write the CSV file")?;
    }
    Ok(())
}

/// The named sorters that run on a GPU (or not).
fn wanted(args: &Args, on_gpu: bool) -> Vec<&str> {
    let named = |name: &str| SORTERS.iter().any(|s| s.name == name && s.on_gpu() == on_gpu);
    args.sorters.iter().map(String::as_str).filter(|n| named(n)).collect()
}

#[allow(clippy::print_stderr, reason = "progress goes to stderr")]
fn measure(
    args: &Args,
    distributions: &[&Distribution],
    copier: Option<&Copier>,
    bandwidth: Option<f64>,
) -> anyhow::Result<Vec<Line>> {
    let mut sorters: Vec<(bool, Box<dyn Sorter>)> = Vec::new();
    for name in &args.sorters {
        if !SORTERS.iter().any(|s| s.name == name) {
            let all: Vec<_> = SORTERS.iter().map(|s| s.name).collect();
            bail!("unknown sorter \"{name}\"; there are: {}", all.join(", "));
        }
    }
    for entry in SORTERS.iter().filter(|s| args.sorters.is_empty() || args.sorters.iter().any(|n| n == s.name)) {
        match copier {
            Some(copier) => sorters.push((entry.on_gpu(), entry.make_on(&copier.gpu))),
            None if entry.on_gpu() => {}
            None => sorters.push((false, entry.make(&Choice::Auto)?)),
        }
    }
    let mut lines = Vec::new();
    for log_n in (args.from..=args.to).step_by(args.step as usize) {
        for distribution in distributions {
            let keys = distribution.keys(1 << log_n);
            let mut expected = keys.clone();
            let start = Instant::now();
            expected.sort_unstable();
            let times = SortTimes { sort: start.elapsed().as_secs_f64(), ..SortTimes::default() };
            lines.push(line("sort_unstable", distribution, keys.len(), &[times], None));
            for (on_gpu, sorter) in &mut sorters {
                if keys.len() > sorter.max_keys() {
                    eprintln!("gamut: {} sorts at most {} keys here", sorter.name(), sorter.max_keys());
                    continue;
                }
                let times = repeat(
                    args,
                    sorter.as_mut(),
                    copier.zip(bandwidth).filter(|_| *on_gpu),
                    &keys,
                    &expected,
                    distribution.sorted_low_bits,
                )?;
                lines.push(line(sorter.name(), distribution, keys.len(), &times, bandwidth));
            }
        }
    }
    Ok(lines)
}

#[allow(clippy::print_stderr, reason = "remarks go to stderr")]
fn repeat(
    args: &Args,
    sorter: &mut dyn Sorter,
    copier: Option<(&Copier, f64)>,
    keys: &[u64],
    expected: &[u64],
    sorted_low_bits: u32,
) -> anyhow::Result<Vec<SortTimes>> {
    let mut block = vec![0; keys.len()];
    let mut sort = || -> anyhow::Result<SortTimes> {
        block.par_chunks_mut(1 << 17).zip(keys.par_chunks(1 << 17)).for_each(|(to, from)| to.copy_from_slice(from));
        let times = sorter.sort(&mut block, sorted_low_bits)?;
        let same = block.par_chunks(1 << 17).zip(expected.par_chunks(1 << 17)).all(|(a, b)| a == b);
        ensure!(same, "{} sorted {} keys wrongly", sorter.name(), keys.len());
        Ok(times)
    };
    sort()?;
    if let Some((copier, bandwidth)) = copier {
        let reached = copier.warm_up(args.warm_up, bandwidth)?;
        if reached < 0.9 * bandwidth {
            eprintln!("gamut: the GPU does not get back to its speed; it copies {:.0} GB/s now", reached / 1e9);
        }
    } else {
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < args.warm_up {
            sort()?;
        }
    }
    (0..args.repetitions).map(|_| sort()).collect()
}

fn median(times: &[SortTimes], of: impl Fn(&SortTimes) -> f64) -> f64 {
    super::median(&times.iter().map(of).collect::<Vec<_>>())
}

fn line(
    sorter: &'static str,
    distribution: &Distribution,
    keys: usize,
    times: &[SortTimes],
    bandwidth: Option<f64>,
) -> Line {
    let sort = median(times, |t| t.sort);
    let wall = median(times, |t| t.upload + t.sort + t.download);
    let moved = times[0].moved_bytes;
    Line {
        sorter,
        keys: keys as u64,
        distribution: distribution.name,
        gkeys_per_second: (sort > 0.0).then(|| keys as f64 / sort / 1e9),
        gkeys_per_second_wall: keys as f64 / wall / 1e9,
        sort,
        upload: median(times, |t| t.upload),
        download: median(times, |t| t.download),
        share_of_memory_floor: bandwidth
            .filter(|_| moved > 0 && sort > 0.0)
            .map(|bandwidth| moved as f64 / bandwidth / sort),
    }
}

#[allow(clippy::print_stdout, reason = "results go to stdout")]
fn print_table(lines: &[Line]) {
    println!(
        "{:<14} {:>10} {:<9} {:>8} {:>8} {:>9} {:>9} {:>9} {:>6}",
        "sorter", "keys", "keys are", "Gkeys/s", "wall", "sort ms", "up ms", "down ms", "floor"
    );
    for l in lines {
        let floor = l.share_of_memory_floor.map_or_else(String::new, |f| format!("{:.0} %", f * 100.0));
        let speed = l.gkeys_per_second.map_or_else(|| "-".to_owned(), |g| format!("{g:.3}"));
        println!(
            "{:<14} {:>10} {:<9} {:>8} {:>8.3} {:>9.3} {:>9.3} {:>9.3} {:>6}",
            l.sorter,
            l.keys,
            l.distribution,
            speed,
            l.gkeys_per_second_wall,
            l.sort * 1e3,
            l.upload * 1e3,
            l.download * 1e3,
            floor
        );
    }
}

fn write_csv(file: std::fs::File, lines: &[Line]) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(file);
    writeln!(
        out,
        "sorter,keys,distribution,gkeys_per_second,gkeys_per_second_wall,sort,upload,download,share_of_memory_floor"
    )?;
    for l in lines {
        let or_nothing = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        let floor = or_nothing(l.share_of_memory_floor);
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{floor}",
            l.sorter,
            l.keys,
            l.distribution,
            or_nothing(l.gkeys_per_second),
            l.gkeys_per_second_wall,
            l.sort,
            l.upload,
            l.download
        )?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_distributions_are_what_they_say() {
        for distribution in DISTRIBUTIONS {
            let keys = distribution.keys(5000);
            assert_eq!(keys.len(), 5000);
            let low = distribution.sorted_low_bits;
            let mut stable = keys.clone();
            stable.sort_by_key(|k| k >> low);
            if low > 0 {
                assert!(stable.is_sorted(), "{}", distribution.name);
            }
        }
        let zipf = DISTRIBUTIONS[2].keys(100_000);
        let first = zipf.iter().filter(|&&k| k >> 32 == 0).count();
        assert!((3_000..6_000).contains(&first), "term 0 came {first} times");
    }

    #[test]
    fn test_medians_and_floor() {
        let times = [3.0, 1.0, 2.0].map(|sort| SortTimes { sort, moved_bytes: 100, ..SortTimes::default() });
        let line = line("x", &DISTRIBUTIONS[0], 4, &times, Some(100.0));
        assert_eq!((line.sort, line.gkeys_per_second, line.share_of_memory_floor), (2.0, Some(2e-9), Some(0.5)));
    }
}
