//! `gamut bench codecs`: every codec on the same lists, after Ding et al. (figures 3 and 4, table 1), Ao et al.
//! (figures 7 and 8, table 2) and Griffin (table 1, figure 12).
//!
//! **What is measured**, by length of list and in total: bits per posting, with words of skip entries; encoding on one
//! core; decoding on one core and on all, into a buffer that stays in the cache; decoding on the GPU from words in its
//! memory to docIDs in its memory, by its own clock, and reading docIDs one at a time there. The memory floor is the
//! time to read the words and write the docIDs at the speed of a copy kernel in the same run; its share is that time
//! over the time taken. **Data**: lists of an index, all or a sample that keeps the shares of the classes, or synthetic
//! ones from a fixed seed. **How**: everything is decoded once and compared with the lists. Measurements of 2 ms or
//! more follow one that does not count; on a GPU they follow half a second of work. Medians, unless `--take` says
//! else. Totals are sums over the classes.

mod cpu;
mod device;
mod frequencies;
mod lists;
mod output;
mod peers;
mod side_by_side;
mod sweep;
pub(super) mod synthetic;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::query::not_negative;
use super::statistics::Take;
use super::{count, hardware_gpu, orders, say};
use crate::base::json::document;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::codec::{self, Codec, spec};
use crate::index::read::lengths::class_name;

use cpu::{Clock, Times};
use device::Device;
pub(super) use lists::read_docs;
use lists::{Class, Source, Wanted};
pub(super) use output::Figures;
use output::Line;
use synthetic::{Spread, Synthetic};

/// Encode and decode lists with every codec, check the results, and compare size and speed.
///
/// Lists come from INDEX, or without one are synthetic, of every length. By length of list and in total: bits per
/// posting (skip entries included), encoding on one core, decoding on one core and on all, decoding on the GPU from and
/// to its own memory with the share of the speed that copying the same bytes would have, and reading single docIDs
/// there. Decoders of other crates run on the same lists of 128 docIDs and more; "tf" is the layout of the term
/// frequencies. A docID that does not come back is an error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench codecs out/gov2                          the lists of an index
  gamut bench codecs out/gov2 --csv c.csv --svg c.svg  the same, for a spreadsheet and as charts
  gamut bench codecs out/input out/url out/bp --codec pef,simdbp
                                                       orders of one collection side by side
  gamut bench codecs --lists clustered --codec vbyte,para-ef
  gamut bench codecs --documents 200M --postings 256M --min-length 1M
                                                       what the GPU does with long lists
  gamut bench codecs out/gov2 --sweep exceptions       Ao et al., figures 7 and 8
  gamut bench codecs out/gov2 --sweep levels           Ding et al., figure 3")]
pub struct Args {
    /// Directories of an index, or of several of one collection in different orders [default: synthetic lists]
    index: Vec<PathBuf>,
    /// Codecs, comma-separated, with parameters as in parapfor:segment=64,exceptions=0.2
    #[arg(long, default_value = "all", value_name = "LIST", long_help = codec_help())]
    codec: String,
    /// Measure each codec that has this parameter once for each of its values
    #[arg(long, value_name = "PARAM")]
    sweep: Option<String>,
    /// How the docIDs of synthetic lists are spread
    #[arg(long, value_enum, default_value = "uniform", conflicts_with = "index")]
    lists: Spread,
    /// Documents of synthetic lists
    #[arg(long, value_name = "N", value_parser = count, default_value = "16M", conflicts_with = "index")]
    documents: u64,
    /// Postings to measure on, about: of a larger index a sample, with one list of every length or more.
    /// 80M take about 0.8 GB of memory
    #[arg(long, value_name = "N", value_parser = count, default_value = "80M")]
    postings: u64,
    /// Leave out shorter lists
    #[arg(long, value_name = "N", value_parser = count, default_value = "2")]
    min_length: u64,
    /// Chooses the sample, or the synthetic lists
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Measurements that count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Which of the measurements is reported
    #[arg(long, value_name = "WHICH", value_enum, default_value = "median")]
    take: Take,
    /// Seconds of work of the GPU that does not count
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "0.5")]
    warm_up: f64,
    /// GPU by name or by its number in `gamut devices`, or none; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// On the GPU also decode to gaps only, without prefix sums, with codecs that go by gaps (Ding et al., figure 4)
    #[arg(long)]
    gaps: bool,
    /// Leave the decoders of other crates out (two of them are only there with `cargo build --features peers`)
    #[arg(long)]
    no_peers: bool,
    /// Leave the term frequencies out
    #[arg(long)]
    no_tf: bool,
    /// Write every line as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw charts, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

fn codec_help() -> String {
    format!("Codecs, comma-separated, or \"all\"; parameters follow a colon:\n{}", codec::help())
}

/// Most postings: offsets of their words and docIDs have 32 bits.
const MOST_POSTINGS: u64 = 1 << 30;

/// Measures, and prints tables or JSON.
///
/// # Errors
/// Unknown names, no such index or device, a file that cannot be written, or a docID that does not come back.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (documents, min_length) = args.limits()?;
    let codecs = codec::parse_list(&args.codec)?;
    let sweep = args.sweep.as_ref().map(|name| sweep::points(&codecs, name)).transpose()?;
    let outputs = Outputs::open(args.csv.as_ref(), args.svg.as_ref(), [])?;
    let Measured { device, titles, orders, figures } = measure(args, documents, min_length, &codecs, sweep.as_deref())?;
    let bandwidth = device.as_ref().map(|device| device.bandwidth);
    let chart = || {
        let points = sweep.as_ref().map(|points| {
            let point = |point: &sweep::Point| (point.codec.name().to_owned(), point.value.clone());
            points.iter().map(point).collect::<Vec<_>>()
        });
        match &figures[..] {
            [figures] => output::chart(&titles[0], figures, points.as_deref()),
            _ => side_by_side::chart(&orders, &titles.join("; "), &figures.concat()),
        }
    };
    outputs.write(|mut out| output::write_csv(&mut out, &figures.concat()), chart)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let report = serde_json::json!({
            "lists": titles,
            "cores": rayon::current_num_threads(),
            "device": device.as_ref().map(Device::report),
            "copy_bytes_per_second": bandwidth,
            "lines": figures.concat(),
        });
        document(&mut out, &report)?;
    } else {
        if let Some(device) = &device {
            let (report, speed) = (device.report(), device.bandwidth / 1e9);
            writeln!(out, "device: {} ({}), copies {speed:.0} GB/s read + written", report.name, report.driver)?;
        }
        for (title, figures) in titles.iter().zip(&figures) {
            writeln!(out, "{title}")?;
            output::write_tables(&mut out, figures, sweep.is_some())?;
            if titles.len() > 1 {
                writeln!(out)?;
            }
        }
        if titles.len() > 1 {
            side_by_side::tables(&orders, &figures.concat()).iter().try_for_each(|table| table.write(&mut out))?;
        }
    }
    Ok(())
}

/// The figures that [`run`] prints, of all indexes one after the other.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<Vec<Figures>> {
    let (documents, min_length) = args.limits()?;
    let codecs = codec::parse_list(&args.codec)?;
    let sweep = args.sweep.as_ref().map(|name| sweep::points(&codecs, name)).transpose()?;
    Ok(measure(args, documents, min_length, &codecs, sweep.as_deref())?.figures.concat())
}

impl Args {
    /// The number of documents, and the length of the shortest list.
    fn limits(&self) -> anyhow::Result<(u32, u32)> {
        ensure!(self.postings <= MOST_POSTINGS, "--postings {} is over {MOST_POSTINGS}", self.postings);
        let documents = u32::try_from(self.documents).ok().filter(|&documents| documents >= 4);
        let documents =
            documents.with_context(|| format!("--documents {} is not from 4 to {}", self.documents, u32::MAX))?;
        let min_length = u32::try_from(self.min_length).context("--min-length is over any list's")?.max(2);
        Ok((documents, min_length))
    }
}

/// What was measured, for each index or the synthetic lists.
struct Measured {
    device: Option<Device>,
    titles: Vec<String>,
    orders: Vec<String>,
    figures: Vec<Vec<Figures>>,
}

fn measure(
    args: &Args,
    documents: u32,
    min_length: u32,
    codecs: &[Arc<dyn Codec>],
    sweep: Option<&[sweep::Point]>,
) -> anyhow::Result<Measured> {
    let clock = Clock { repetitions: args.repetitions, take: args.take };
    let device = open(args, clock)?;
    let indexes = orders::open(&args.index)?;
    ensure!(sweep.is_none() || indexes.len() < 2, "--sweep takes one index at a time");
    let sources = indexes.iter().map(|index| Ok(Source::Index(index, index.codec(None)?)));
    let mut sources = sources.collect::<crate::Result<Vec<_>>>()?;
    let mut orders = orders::labels(&indexes);
    if sources.is_empty() {
        sources.push(Source::Synthetic(Synthetic { spread: args.lists, documents, seed: args.seed }));
        orders.push(format!("{:?}", args.lists).to_lowercase());
    }
    let bandwidth = device.as_ref().map(|device| device.bandwidth);
    let (mut figures, mut titles): (Vec<Vec<Figures>>, Vec<String>) = (Vec::new(), Vec::new());
    for (number, (source, order)) in sources.iter().zip(&orders).enumerate() {
        let classes = source.classes(&Wanted { postings: args.postings, min_length, seed: args.seed })?;
        let title = title(args, number, &classes);
        say(&title);
        titles.push(title);
        let bench = Bench { classes: &classes, device: device.as_ref(), clock, gaps: args.gaps };
        let lines = match sweep {
            Some(points) => bench.codecs(points.iter().map(|point| (point.label(), &point.codec)))?,
            None => bench.all(args, codecs, source)?,
        };
        figures.push(lines.iter().map(|line| line.figures(order, bandwidth)).collect());
    }
    Ok(Measured { device, titles, orders, figures })
}

/// The chosen device; `None` if any would do and there is none.
fn open(args: &Args, clock: Clock) -> anyhow::Result<Option<Device>> {
    if args.device == "none" {
        return Ok(None);
    }
    hardware_gpu(&args.device)?.map(|gpu| Device::new(&gpu, args.warm_up, clock)).transpose()
}

/// A title with the data.
fn title(args: &Args, number: usize, classes: &[Class]) -> String {
    let lists: usize = classes.iter().map(|class| class.lists.len()).sum();
    let postings: u64 = classes.iter().map(Class::postings).sum();
    let source = match args.index.get(number) {
        Some(path) => path.display().to_string(),
        None => format!("{:?} lists below {}", args.lists, args.documents).to_lowercase(),
    };
    format!("{source}: {lists} lists, {:.1} M postings, {} cores", postings as f64 / 1e6, rayon::current_num_threads())
}

/// A codec's name in tables, with parameters that differ from the usual ones.
fn label(codec: &dyn Codec) -> String {
    let usual = codec.family().codec("").is_ok_and(|usual| usual.settings() == codec.settings());
    if usual { codec.name().to_owned() } else { spec(codec) }
}

/// The shared parts of all measurements.
struct Bench<'a> {
    classes: &'a [Class],
    device: Option<&'a Device>,
    clock: Clock,
    /// Whether a device also decodes to gaps.
    gaps: bool,
}

impl Bench<'_> {
    /// Codecs, decoders of other crates, and frequencies, as asked for.
    fn all(&self, args: &Args, codecs: &[Arc<dyn Codec>], source: &Source<'_>) -> anyhow::Result<Vec<Line>> {
        let mut lines = self.codecs(codecs.iter().map(|codec| (label(codec.as_ref()), codec)))?;
        if !args.no_peers {
            lines.extend(self.peers()?);
        }
        if !args.no_tf {
            lines.extend(self.frequencies(source)?);
        }
        Ok(lines)
    }

    /// Measures codecs, each under a name.
    fn codecs<'c>(
        &self,
        codecs: impl ExactSizeIterator<Item = (String, &'c Arc<dyn Codec>)>,
    ) -> anyhow::Result<Vec<Line>> {
        let (mut lines, all) = (Vec::new(), codecs.len());
        for (i, (name, codec)) in codecs.enumerate() {
            let start = Instant::now();
            let codec = codec.as_ref();
            let encoded = self.classes.iter().map(|class| cpu::encode(codec, class)).collect::<Result<Vec<_>, _>>()?;
            let mut of_codec = Vec::new();
            for (class, encoded) in self.classes.iter().zip(&encoded) {
                cpu::verify(codec, class, encoded)?;
                let times = cpu::measure(codec, class, encoded, self.clock)?;
                let line = line(&name, class, encoded.bits(), Some(times));
                of_codec.push(Line { parameters: codec.settings().to_string(), ..line });
            }
            if let Some(device) = self.device {
                let mut decoder = device.decoder(codec, self.gaps)?;
                for ((class, encoded), line) in self.classes.iter().zip(&encoded).zip(&mut of_codec) {
                    line.gpu = device.measure(&mut decoder, codec, class, encoded)?;
                    if line.gpu.is_none() {
                        say(&format!("lists of {} docIDs are too long for the GPU", class_name(class.number)));
                    }
                }
            }
            self.finish(of_codec, &format!("{} of {all}, {:.1} s", i + 1, start.elapsed().as_secs_f64()), &mut lines);
        }
        Ok(lines)
    }

    fn peers(&self) -> anyhow::Result<Vec<Line>> {
        let mut lines = Vec::new();
        for peer in peers::PEERS {
            let mut of_peer = Vec::new();
            for class in self.classes {
                if let Some(reached) = peers::measure(peer, class, self.clock)? {
                    let line = line(peer.name, class, reached.bits, None);
                    of_peer.push(Line { decode: Some(reached.decode), ..line });
                }
            }
            self.finish(of_peer, "for comparison", &mut lines);
        }
        Ok(lines)
    }

    fn frequencies(&self, source: &Source<'_>) -> anyhow::Result<Vec<Line>> {
        let mut of_tf = Vec::new();
        for class in self.classes {
            let tfs = source.frequencies(class)?;
            let (bits, times) = frequencies::measure(class, &tfs, self.clock)?;
            of_tf.push(line("tf", class, bits, Some(times)));
        }
        let mut lines = Vec::new();
        self.finish(of_tf, "term frequencies", &mut lines);
        Ok(lines)
    }

    /// Adds lines of classes and their total to `all`, and reports the total.
    fn finish(&self, lines: Vec<Line>, remark: &str, all: &mut Vec<Line>) {
        let Some(total) = Line::total(&lines) else { return };
        say(&format!("{} ({remark})", total.summary()));
        all.extend(lines);
        all.push(total);
    }
}

fn line(name: &str, class: &Class, bits: f64, times: Option<Times>) -> Line {
    Line {
        name: name.to_owned(),
        parameters: String::new(),
        class: Some(class.number),
        lists: class.lists.len() as u64,
        postings: class.postings(),
        bits,
        encode: times.map(|times| times.encode),
        decode: times.map(|times| times.decode),
        decode_all_cores: times.map(|times| times.decode_all_cores),
        gpu: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_labels_are_short_where_they_can_be() {
        for name in codec::names() {
            assert_eq!(label(codec::codec(name).unwrap().as_ref()), name);
        }
        assert_eq!(label(codec::codec("pfor-recursive:levels=2").unwrap().as_ref()), "pfor-recursive:levels=2");
    }
}
