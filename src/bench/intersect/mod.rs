//! `gamut bench intersect`: two lists and every method to intersect them, after Ding et al. (figure 6) and Griffin
//! (figures 8 and 13).
//!
//! **What is measured**: from compressed words in memory to the docIDs that both lists have, no scores: on one core;
//! and on the GPU from words in its memory, once from submission to docIDs on the host and once the kernels alone by
//! its own clock. **Data**: pairs of synthetic lists, drawn independently from a fixed seed: two of the same length,
//! and a long one with shorter ones. **How**: each method's result is compared with a plain merge of the docIDs. Then
//! the methods take turns; a first round does not count. The time of a pair is the median of its rounds, or with
//! `--take fastest` their minimum; the figure is the mean over the pairs. The GPU works half a second before each turn.
//!
//! | file | its one job |
//! |---|---|
//! | `pairs` | the lists, encoded and timed on the CPU |
//! | `device` | the same on the GPU |
//! | `output` | tables, CSV, charts |

mod device;
mod output;
mod pairs;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use super::codecs::synthetic::{Spread, Synthetic};
use super::query::not_negative;
use super::statistics::Take;
use super::{Engine, count, hardware_gpu, say};
use crate::base::json;
use crate::bench::beside::named_file;
use crate::bench::outputs::Outputs;
use crate::codec::{self, split_specs};
use crate::query::and::{AND, RANGES};
use crate::query::method::EngineKind;

use crate::gpu::Gpu;

pub(super) use output::Figure;
pub(super) use pairs::Sweep;
use pairs::{Clock, Methods, Point, Readers};

/// Intersect two lists with every method, check the results, and compare speeds.
///
/// Synthetic lists: two of the same length, by length, and a long one with shorter ones, by ratio. From compressed
/// words in memory to docIDs, on one core; on the GPU from submission to docIDs on the host, and the kernels alone. A
/// docID too many or too few is an error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench intersect
  gamut bench intersect --methods merge,binary --codec raw --lengths 5K,50K,500K,5M
                                            Ding et al., figure 6
  gamut bench intersect --longer 2M --pairs 100 --codec para-ef
                                            Griffin, figure 8: where binary search overtakes merging
  gamut bench intersect --lists clustered --csv i.csv --svg i.svg")]
pub struct Args {
    /// Methods of either engine, comma-separated, with parameters as in pmf:levels=3, or all
    #[arg(long, default_value = "all", value_name = "LIST", long_help = methods_help())]
    methods: String,
    /// Engines, comma-separated; without a GPU the CPU only
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,gpu", value_name = "LIST")]
    engine: Vec<Engine>,
    /// GPU by name or by its number in `gamut devices`; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Seconds of work of the GPU that does not count, before each turn
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = not_negative)]
    warm_up: f64,
    /// Codecs, comma-separated, with parameters as in parapfor:segment=64, or all
    #[arg(long, default_value = "raw,para-ef,simdbp", value_name = "LIST")]
    codec: String,
    /// DocIDs are below
    #[arg(long, value_name = "N", value_parser = count, default_value = "32M")]
    documents: u64,
    /// How docIDs are spread
    #[arg(long, value_enum, default_value = "uniform")]
    lists: Spread,
    /// Lengths of two lists of the same length, comma-separated
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = count, default_value = "1K,10K,100K,1M,10M")]
    lengths: Vec<u64>,
    /// How many times as long the longer list is, comma-separated
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = count, default_value = "1,2,4,8,16,32,64,128,256,512,1024")]
    ratios: Vec<u64>,
    /// Length of the longer list when ratios are compared
    #[arg(long, value_name = "N", value_parser = count, default_value = "1M")]
    longer: u64,
    /// Length of the shorter list when ratios are compared, in the place of --longer: the longer one grows
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "longer")]
    shorter: Option<u64>,
    /// Pairs of lists for a figure, at most: of long lists there are fewer, down to one
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Chooses the lists
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Rounds that count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Which of the rounds stands for a pair
    #[arg(long, value_name = "WHICH", value_enum, default_value = "median")]
    take: Take,
    /// Write every figure as CSV, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw charts, too
    #[arg(long, value_parser = named_file(), value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object with every figure instead of tables
    #[arg(long)]
    json: bool,
}

fn methods_help() -> String {
    // without scores `ranges` is `daat`
    let rows = |engine| AND.on(engine).filter(|method| method.name != RANGES.name);
    let lines = |engine| rows(engine).map(|row| format!("  {:<14} {}\n", row.name, row.about)).collect::<String>();
    format!(
        "Methods, comma-separated, with parameters as in pmf:levels=3, or \"all\":\n{}On the GPU:\n{}",
        lines(EngineKind::Cpu),
        lines(EngineKind::Gpu)
    )
}

/// The named methods of the chosen engines.
fn methods(names: &str, engines: &[Engine]) -> anyhow::Result<Methods> {
    let mut methods = Methods { cpu: Vec::new(), gpu: Vec::new() };
    let specs = match names {
        "all" => AND.rows.iter().map(|row| row.name.to_owned()).filter(|name| name != RANGES.name).collect(),
        names => split_specs(names),
    };
    for spec in specs {
        let method = AND.find(spec.split_once(':').map_or(spec.as_str(), |(name, _)| name))?;
        if !method.runs_on(EngineKind::Gpu) && method.name != spec {
            bail!("{} has no parameters, so \"{spec}\" means nothing", method.name)
        }
        if let Some(cpu) = method.cpu.as_ref().filter(|_| engines.contains(&Engine::Cpu)) {
            methods.cpu.push((method, cpu));
        }
        if method.runs_on(EngineKind::Gpu) && engines.contains(&Engine::Gpu) {
            methods.gpu.push(spec);
        }
    }
    ensure!(
        !(methods.cpu.is_empty() && methods.gpu.is_empty()),
        "--methods names none that runs on the engines of --engine"
    );
    Ok(methods)
}

/// The points of both sweeps.
///
/// # Errors
/// Lists that are longer than half of the documents, or too short.
fn points(args: &Args, documents: u32) -> anyhow::Result<Vec<Point>> {
    let length = |value: u64| {
        let length = u32::try_from(value).ok().filter(|&length| length <= documents / 2);
        length.with_context(|| {
            format!("a list of {value} docIDs is longer than half of {documents} documents; give more --documents")
        })
    };
    let mut points = Vec::new();
    for &value in &args.lengths {
        ensure!(value >= 2, "--lengths {value}: a list has 2 docIDs or more");
        let both = length(value)?;
        points.push(Point { sweep: Sweep::Length, shorter: both, longer: both, ratio: 1 });
    }
    for &ratio in &args.ratios {
        if let Some(shorter) = args.shorter {
            ensure!(shorter >= 2, "--shorter {shorter}: a list has 2 docIDs or more");
            let longer = length(shorter.saturating_mul(ratio))?;
            points.push(Point { sweep: Sweep::Ratio, shorter: length(shorter)?, longer, ratio });
            continue;
        }
        let longer = length(args.longer)?;
        let shorter = (u64::from(longer) / ratio) as u32;
        ensure!(shorter >= 2, "--ratios {ratio}: the shorter list has {shorter} docIDs; give a greater --longer");
        points.push(Point { sweep: Sweep::Ratio, shorter, longer, ratio });
    }
    Ok(points)
}

/// The figures that [`run`] prints.
///
/// # Errors
/// As of [`run`].
pub(super) fn figures(args: &Args) -> anyhow::Result<Vec<Figure>> {
    Planned::new(args)?.measure()
}

/// What the options ask for.
struct Planned {
    points: Vec<Point>,
    recipe: Synthetic,
    codecs: Vec<Readers>,
    methods: Methods,
    gpu: Option<Gpu>,
    clock: Clock,
}

impl Planned {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let documents = u32::try_from(args.documents).ok().filter(|&documents| documents >= 4);
        let documents =
            documents.with_context(|| format!("--documents {} is not from 4 to {}", args.documents, u32::MAX))?;
        let points = points(args, documents)?;
        let codecs = codec::parse_list(&args.codec)?;
        let methods = methods(&args.methods, &args.engine)?;
        let gpu = if methods.gpu.is_empty() { None } else { hardware_gpu(&args.device)? };
        ensure!(gpu.is_some() || !methods.cpu.is_empty(), "all of these methods need a GPU, and there is none");
        // without a GPU nothing is left out
        let codecs = Readers::of(codecs, if gpu.is_some() { &methods.gpu } else { &[] });
        let recipe = Synthetic { spread: args.lists, documents, seed: args.seed };
        let clock = Clock { rounds: args.rounds, take: args.take, pairs: args.pairs, warm_up: args.warm_up };
        Ok(Self { points, recipe, codecs, methods, gpu, clock })
    }

    fn measure(&self) -> anyhow::Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let (recipe, gpu) = (&self.recipe, self.gpu.as_ref());
            figures.extend(pairs::measure(*point, recipe, &self.codecs, &self.methods, gpu, self.clock)?);
            say(&format!("{} of {} points: lists of {} and {}", i + 1, self.points.len(), point.shorter, point.longer));
        }
        Ok(figures)
    }
}

/// Measures, and prints tables.
///
/// # Errors
/// Unknown names, lengths that do not fit, a file that cannot be written, or a wrong result.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let plan = Planned::new(args)?;
    let documents = plan.recipe.documents;
    let outputs = Outputs::open(args.csv.as_ref(), args.svg.as_ref(), [])?;
    let figures = plan.measure()?;
    let gpu = plan.gpu;
    let each = args.take.name();
    let spread = format!("{:?}", args.lists).to_lowercase();
    let title = format!("Pairs of {spread} lists below {documents}, one core, {each} of {} rounds", args.rounds);
    outputs.write(|mut out| output::write_csv(&mut out, &figures), || output::chart(&title, &figures))?;
    if args.json {
        let mut csv = Vec::new();
        output::write_csv(&mut csv, &figures)?;
        let device = gpu.as_ref().map(Gpu::report);
        let rows = super::table::objects(&csv, 4);
        return Ok(json::print(&serde_json::json!({ "title": title, "device": device, "rows": rows }))?);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{title}")?;
    if let Some(gpu) = &gpu {
        writeln!(out, "device: {} ({})", gpu.report().name, gpu.report().driver)?;
    }
    output::tables(&figures).iter().try_for_each(|table| table.write(&mut out))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Args {
        Line::parse_from(std::iter::once("x").chain(line.split_whitespace())).args
    }

    #[test]
    fn test_points_and_what_is_refused() {
        let given = args("--lengths 2,1K --longer 2K --ratios 1,1000");
        let points = points(&given, 4000).unwrap();
        let shown: Vec<_> = points.iter().map(|point| (point.shorter, point.longer)).collect();
        assert_eq!(shown, [(2, 2), (1000, 1000), (2000, 2000), (2, 2000)]);
        let growing = super::points(&args("--lengths 2 --shorter 100 --ratios 1,8"), 4000).unwrap();
        let shown: Vec<_> = growing.iter().map(|point| (point.shorter, point.longer)).collect();
        assert_eq!(shown, [(2, 2), (100, 100), (100, 800)]);
        for (line, why) in [
            ("--lengths 3K --longer 1K", "--documents"),
            ("--lengths 1", "2 docIDs or more"),
            ("--lengths 10 --longer 1K --ratios 1K", "--longer"),
            ("--lengths 10 --shorter 100 --ratios 30", "--documents"),
            ("--lengths 10 --shorter 1 --ratios 30", "2 docIDs or more"),
        ] {
            let error = super::points(&args(line), 4000).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let both = [Engine::Cpu, Engine::Gpu];
        for bad in ["zipper", "merge:x=1", ","] {
            assert!(methods(bad, &both).is_err(), "{bad}");
        }
        assert!(methods("merge", &[Engine::Gpu]).is_err());
        let named = methods("merge,pmf:levels=2", &both).unwrap();
        assert_eq!((named.cpu.len(), named.gpu), (1, vec!["pmf:levels=2".to_owned()]));
    }

    #[test]
    fn test_every_method_in_every_codec_gives_a_figure_a_point() {
        let dir = tempfile::tempdir().unwrap();
        let (csv, svg) = (dir.path().join("i.csv"), dir.path().join("i.svg"));
        let mut given =
            args("--lengths 2,300 --longer 1000 --ratios 1,8 --documents 5000 --pairs 2 --rounds 1 --engine cpu");
        (given.csv, given.svg) = (Some(csv.clone()), Some(svg.clone()));
        run(&given).unwrap();
        let text = std::fs::read_to_string(csv).unwrap();
        let methods = methods(&given.methods, &given.engine).unwrap().cpu.len();
        assert_eq!(text.lines().count(), 1 + 4 * 3 * methods, "{text}");
        let columns = text.lines().next().unwrap().split(',').count();
        assert!(text.lines().all(|line| line.split(',').count() == columns));
        assert!(text.contains("ratio,para-ef,cpu,skip-list,125,1000,8,2,"), "{text}");
        assert!(std::fs::read_to_string(svg).unwrap().contains("skip-list"));
    }

    #[test]
    fn test_the_gpu_has_two_figures_a_method_that_reads_the_codec() {
        let Some(gpu) = crate::gpu::testing::gpu() else { return };
        let methods = methods("merge,gpu-binary,lrc", &[Engine::Cpu, Engine::Gpu]).unwrap();
        let recipe = Synthetic { spread: Spread::Clustered, documents: 5000, seed: 3 };
        let clock = Clock { rounds: 1, take: Take::Fastest, pairs: 2, warm_up: 0.0 };
        let point = Point { sweep: Sweep::Ratio, shorter: 100, longer: 700, ratio: 7 };
        let codecs = Readers::of(codec::parse_list("simdbp").unwrap(), &methods.gpu);
        let figures = pairs::measure(point, &recipe, &codecs, &methods, Some(&gpu), clock).unwrap();
        let shown: Vec<_> = figures.iter().map(|figure| (figure.engine, figure.method.as_str())).collect();
        assert_eq!(shown, [("cpu", "merge"), ("gpu", "gpu-binary"), ("gpu", "gpu-binary, kernels")]);
        assert!(figures.iter().all(|figure| figure.seconds > 0.0));
    }
}
