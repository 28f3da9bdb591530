//! `gamut bench sort`: every sorter on arrays of keys, after Capannini et al., section 6.
//!
//! **What is measured**: seconds of the sort alone (device timestamps; the host's clock for the CPU) over several
//! arrays of a distribution, with their deviation, the wall time with both transfers, and the ratio to the time of the
//! sort's passes over memory at the speed of a copy kernel. With `--counts`, what a machine of the K-model would count.
//! **Data**: arrays of several distributions, from fixed seeds. **How**: sorters take turns with the arrays in memory.
//! First come sorts that do not count, and on a GPU a copy kernel without a pause, until it copies as fast as in the
//! beginning. A card that idled during the processor's turn is three to four times slower, and does not hurry up for
//! sorts with transfers between them. Then each array is sorted as often as asked for, and its median counts. Each
//! result is compared with that of a sort of the standard library's kind.

mod arrays;
mod rows;

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, ensure};

use self::arrays::{Array, Distribution, Key};
pub(super) use self::rows::Row;
use self::rows::Times;
use super::copier::Copier;
use super::median;
use crate::base::json;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::gpu::{Choice, Gpu};
use crate::sort::bitonic::{self, Bitonic};
use crate::sort::quick::{self, Quick};
use crate::sort::{SORTERS, SortTimes, Sorter};

/// Sort arrays of keys with every sorter, check the results, and compare.
///
/// Gkeys/s is by the device's own clock, wall includes the transfers. Mean, deviation (dev), least and greatest are
/// over the arrays of a distribution, and CV is deviation over mean. Floor is the share of the speed at which the
/// sort's bytes could be copied.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    gamut bench sort --from 26 --to 26 --sorters bitonic,radix --arrays 5\n  \
    gamut bench sort --distributions uniform,gaussian,zipf,equal --bits 32 --arrays 20 --counts 16\n  \
    gamut bench sort --sorters bitonic --sigma 1024,4096 --log-k 0,2,4,6")]
pub struct Args {
    /// Smallest array, as a power of two
    #[arg(long, value_name = "LOG2", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=31))]
    from: u32,
    /// Largest array, as a power of two
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
    /// Bits of a key, comma-separated: 64, 32
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "64")]
    bits: Vec<u32>,
    /// Arrays of each distribution
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    arrays: u32,
    /// Sorts of each array; their median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Keys of a part of the bitonic sort and of a leaf of quicksort (K-model: words of local memory), powers of two,
    /// comma-separated
    #[arg(long, value_delimiter = ',', value_name = "N")]
    sigma: Vec<u32>,
    /// log2 of the neighbouring keys that its parts keep together (K-model: processors), comma-separated
    #[arg(long, value_delimiter = ',', value_name = "LOG2")]
    log_k: Vec<u32>,
    /// Also count memory transactions, contention and divergence on a K-model machine with K processors and banks
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=128))]
    counts: Option<u32>,
    /// Seconds of work that does not count, before the sorts that do
    #[arg(long, value_name = "SECONDS", default_value_t = 0.3)]
    warm_up: f64,
    /// GPU to use, by name or index; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Write the rows as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// A sorter with its name in the table.
struct Entrant {
    name: String,
    on_gpu: bool,
    sorter: Box<dyn Sorter>,
}

/// The device, and how fast it copies.
struct Card {
    copier: Copier,
    bytes_per_second: f64,
}

/// Measures, and prints tables or JSON.
///
/// # Errors
/// Unknown names, no such device, a file that cannot be written, or a wrong result.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let distributions = checked(args)?;
    let outputs = Outputs::open(args.csv.as_ref(), None, [])?;
    let (card, rows) = all_rows(args, &distributions)?;
    if args.json {
        let device = card.as_ref().map(|card| card.copier.gpu.report());
        let bandwidth = card.as_ref().map(|card| card.bytes_per_second);
        let report = serde_json::json!({ "device": device, "copy_bytes_per_second": bandwidth, "rows": rows });
        json::print(&report)?;
    } else {
        let mut out = std::io::stdout().lock();
        if let Some(card) = &card {
            let (report, speed) = (card.copier.gpu.report(), card.bytes_per_second / 1e9);
            writeln!(out, "device: {} ({}), copies {speed:.0} GB/s read + written", report.name, report.driver)?;
        }
        rows::print(&rows, &mut out)?;
    }
    outputs.write_csv(|mut out| rows::write_csv(&rows, &mut out))?;
    Ok(())
}

/// The rows that [`run`] prints.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<Vec<Row>> {
    Ok(all_rows(args, &checked(args)?)?.1)
}

/// The distributions, if all options can be.
fn checked(args: &Args) -> anyhow::Result<Vec<&'static Distribution>> {
    ensure!(args.from <= args.to, "--from {} is over --to {}", args.from, args.to);
    ensure!(args.warm_up >= 0.0 && args.warm_up <= 60.0, "--warm-up {} is not from 0 to 60", args.warm_up);
    if let Some(bits) = args.bits.iter().find(|bits| ![32, 64].contains(*bits)) {
        bail!("--bits {bits}: keys have 64 or 32");
    }
    if let Some(k) = args.counts.filter(|k| !k.is_power_of_two()) {
        bail!("--counts {k}: take a power of two, such as 16 (the paper's) or 32");
    }
    args.distributions.iter().map(|name| Distribution::named(name)).collect()
}

/// The rows of all sizes, distributions and sorters, and the device.
fn all_rows(args: &Args, distributions: &[&'static Distribution]) -> anyhow::Result<(Option<Card>, Vec<Row>)> {
    let card = card(args)?;
    let mut entrants = entrants(args, card.as_ref())?;
    let mut rows = Vec::new();
    for log_n in (args.from..=args.to).step_by(args.step as usize) {
        for (distribution, &bits) in distributions.iter().flat_map(|d| args.bits.iter().map(move |bits| (d, bits))) {
            let card = card.as_ref();
            rows.extend(match bits {
                32 => measure::<u32>(args, distribution, 1 << log_n, card, &mut entrants)?,
                _ => measure::<u64>(args, distribution, 1 << log_n, card, &mut entrants)?,
            });
        }
    }
    Ok((card, rows))
}

/// The device; `None`, with a message, if there is none and none is needed.
fn card(args: &Args) -> anyhow::Result<Option<Card>> {
    let needed = SORTERS.iter().any(|s| s.on_gpu() && args.sorters.iter().any(|name| name == s.name));
    let gpu = match Gpu::open(&Choice::parse(&args.device)) {
        Ok(gpu) => gpu,
        Err(error) if args.device == "auto" && !needed => {
            tell!("gamut: CPU only: {error}");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let copier = Copier::new(&gpu)?;
    let bytes_per_second = copier.bytes_per_second(0.7)?;
    Ok(Some(Card { copier, bytes_per_second }))
}

/// The sorters that were asked for, as far as the machine can run them.
fn entrants(args: &Args, card: Option<&Card>) -> anyhow::Result<Vec<Entrant>> {
    if let Some(name) = args.sorters.iter().find(|name| !SORTERS.iter().any(|s| s.name == **name)) {
        let all: Vec<_> = SORTERS.iter().map(|s| s.name).collect();
        bail!("unknown sorter \"{name}\"; there are: {}", all.join(", "));
    }
    let wanted = |name: &str| args.sorters.is_empty() || args.sorters.iter().any(|n| n == name);
    let tuned = !(args.sigma.is_empty() && args.log_k.is_empty());
    ensure!(
        args.sigma.is_empty() || wanted("bitonic") || wanted("quick"),
        "--sigma is for the sorters bitonic and quick, which --sorters leaves out"
    );
    ensure!(
        args.log_k.is_empty() || wanted("bitonic"),
        "--log-k is for the sorter bitonic, which --sorters leaves out"
    );
    let mut entrants = Vec::new();
    for entry in SORTERS.iter().filter(|s| wanted(s.name)) {
        let (name, on_gpu) = (entry.name.to_owned(), entry.on_gpu());
        match card.map(|card| &card.copier.gpu) {
            Some(gpu) if tuned && entry.name == "bitonic" => entrants.extend(bitonics(args, gpu)?),
            Some(gpu) if !args.sigma.is_empty() && entry.name == "quick" => entrants.extend(quicks(args, gpu)?),
            Some(gpu) => entrants.push(Entrant { name, on_gpu, sorter: entry.make_on(gpu) }),
            None if on_gpu => {}
            None => entrants.push(Entrant { name, on_gpu, sorter: entry.make(&Choice::Auto)? }),
        }
    }
    Ok(entrants)
}

/// The bitonic sorter in all sizes that were asked for.
fn bitonics(args: &Args, gpu: &Gpu) -> anyhow::Result<Vec<Entrant>> {
    let usual = bitonic::Tuning::of(gpu);
    let or = |given: &[u32], usual: u32| if given.is_empty() { vec![usual] } else { given.to_vec() };
    let mut entrants = Vec::new();
    for sigma in or(&args.sigma, 1 << usual.log_sigma) {
        for log_k in or(&args.log_k, usual.log_k) {
            let tuning = usual.with(gpu, sigma, log_k)?;
            let sorter = Box::new(Bitonic::with_tuning(gpu.clone(), tuning));
            entrants.push(Entrant { name: format!("bitonic:sigma={sigma}:log-k={log_k}"), on_gpu: true, sorter });
        }
    }
    Ok(entrants)
}

/// Quicksort with leaves of all sizes that were asked for.
fn quicks(args: &Args, gpu: &Gpu) -> anyhow::Result<Vec<Entrant>> {
    let entrant = |&sigma: &u32| {
        let usual = quick::Tuning::of(gpu);
        ensure!(sigma >= 64, "--sigma {sigma}: leaves of quicksort have 64 keys and more");
        let parts = bitonic::Tuning::of(gpu).with(gpu, sigma, 0)?;
        let tuning = quick::Tuning { log_leaf: parts.log_sigma, log_regs: parts.log_regs, ..usual };
        let sorter = Box::new(Quick::with_tuning(gpu.clone(), tuning));
        Ok(Entrant { name: format!("quick:sigma={sigma}"), on_gpu: true, sorter })
    };
    args.sigma.iter().map(entrant).collect()
}

/// A row for each sorter, and before them one for the standard library's sort of the first array.
fn measure<K: Key>(
    args: &Args,
    distribution: &Distribution,
    n: usize,
    card: Option<&Card>,
    entrants: &mut [Entrant],
) -> anyhow::Result<Vec<Row>> {
    let row = |sorter: &str, times: &[SortTimes], bandwidth| Row {
        sorter: sorter.to_owned(),
        bits: K::BITS,
        keys: n as u64,
        distribution: distribution.name,
        arrays: times.len(),
        times: Times::of(times, bandwidth),
        counts: None,
        formula: None,
    };
    let Some(mut first) = K::keys(distribution, 0, n) else {
        tell!("gamut: there are no {} keys of {} bits", distribution.name, K::BITS);
        return Ok(Vec::new());
    };
    let log_k = args.counts.map(u32::ilog2);
    let counted: Vec<_> = entrants
        .iter()
        .map(|entrant| {
            let (model, log_k) = (entrant.sorter.model().filter(|_| n > 1)?, log_k?);
            let long: Vec<u64> = first.iter().map(|&key| key.into()).collect();
            Some((model.count(&long, K::BITS, log_k), model.formula(n as u64, K::BITS, log_k)))
        })
        .collect();
    let start = Instant::now();
    first.sort_unstable();
    let times = SortTimes { sort: start.elapsed().as_secs_f64(), ..SortTimes::default() };
    let mut rows = vec![row("sort_unstable", &[times], None)];
    drop(first);

    let mut times: Vec<Vec<SortTimes>> = vec![Vec::new(); entrants.len()];
    let mut block: Vec<K> = vec![K::zeroed(); n];
    for begin in (0..args.arrays).step_by(Array::<K>::held(n)) {
        let end = args.arrays.min(begin + Array::<K>::held(n) as u32);
        let arrays: Vec<_> =
            (begin..end).filter_map(|number| K::keys(distribution, number, n)).map(Array::new).collect();
        for (entrant, times) in entrants.iter_mut().zip(&mut times) {
            if n > entrant.sorter.max_keys() {
                if begin == 0 {
                    tell!("gamut: {} sorts at most {} keys here", entrant.name, entrant.sorter.max_keys());
                }
                continue;
            }
            let mut sort = |array: &Array<K>| array.sort(&mut *entrant.sorter, &mut block, distribution);
            warm_up(args.warm_up, card.filter(|_| entrant.on_gpu), || sort(&arrays[0]))?;
            for array in &arrays {
                let sorts = (0..args.repetitions).map(|_| sort(array)).collect::<anyhow::Result<Vec<_>>>()?;
                times.push(middle(&sorts));
            }
        }
    }
    for ((entrant, times), counted) in entrants.iter().zip(&times).zip(counted).filter(|((_, t), _)| !t.is_empty()) {
        let bandwidth = card.filter(|_| entrant.on_gpu).map(|card| card.bytes_per_second);
        let (counts, formula) = counted.map_or((None, None), |(counts, formula)| (Some(counts), formula));
        rows.push(Row { counts, formula, ..row(&entrant.name, times, bandwidth) });
    }
    Ok(rows)
}

/// Sorts that do not count, and on a device copies until it is at its speed.
fn warm_up(
    seconds: f64,
    card: Option<&Card>,
    mut sort: impl FnMut() -> anyhow::Result<SortTimes>,
) -> anyhow::Result<()> {
    sort()?;
    if let Some(Card { copier, bytes_per_second }) = card {
        let reached = copier.warm_up(seconds, *bytes_per_second)?;
        if seconds > 0.0 && reached < 0.9 * bytes_per_second {
            tell!("gamut: the GPU does not get back to its speed; it copies {:.0} GB/s now", reached / 1e9);
        }
        return Ok(());
    }
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        sort()?;
    }
    Ok(())
}

/// Each part's median.
fn middle(times: &[SortTimes]) -> SortTimes {
    let of = |part: fn(&SortTimes) -> f64| median(&times.iter().map(part).collect::<Vec<_>>());
    SortTimes {
        upload: of(|t| t.upload),
        sort: of(|t| t.sort),
        download: of(|t| t.download),
        moved_bytes: times.first().map_or(0, |t| t.moved_bytes),
    }
}
