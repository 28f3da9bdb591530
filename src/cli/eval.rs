//! `gamut eval`: TREC's measures of run files, and whether runs differ.

use super::ui::printable;
use crate::base::text_file;
use crate::bench::table::{Table, figure};
use crate::eval::{
    BadFile, Combine, Difference, MEASURES, Measure, OFFICIAL, Qrels, Rules, Run, SIGN_FLIPS, Scores, compare, holm,
    parse, read_text, score,
};
use anyhow::{Context as _, ensure};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measures of several runs, unless others are named.
const COMPARED: &[&str] = &[
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "Rprec",
    "bpref",
    "recip_rank",
    "P_10",
    "recall_1000",
    "ndcg",
    "ndcg_cut_10",
];

/// Measure how good rankings are, as trec_eval does.
///
/// One run is printed as trec_eval 10 prints it, so that scripts can read it. Several runs stand side by side, and each
/// pair of them is tested: by the paired t test, and by Fisher's randomisation test, both two-sided and corrected for
/// the number of pairs (Holm).
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = help())]
pub struct Args {
    /// Judgements: lines of query, iteration, document, relevance. - is standard input. May be packed by gzip, zstd
    /// or bzip2.
    qrels: PathBuf,
    /// Run files in TREC's format: query, Q0, document, rank, score, tag. - is standard input. May be packed, too.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// A measure, see below; may be given several times [default: what trec_eval prints; of several runs a choice].
    #[arg(short, long = "measure", value_name = "NAME")]
    measure: Vec<String>,
    /// Print each query's values, too.
    #[arg(short = 'q', long)]
    queries: bool,
    /// Means over all queries with judgements; one without results counts as 0.
    #[arg(short, long)]
    complete: bool,
    /// Relevance from which a document is relevant.
    #[arg(short = 'l', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    level: i64,
    /// Documents of each ranking that count, at most.
    #[arg(short = 'M', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    depth: Option<u64>,
    /// Leave documents out of rankings that nobody judged.
    #[arg(short = 'J', long)]
    judged_only: bool,
    /// Of several runs: the N queries whose first measure that is a mean differs most between two runs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    diff: Option<u64>,
    /// Seed of the randomisation test.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn help() -> String {
    let mut text = String::from(
        "\
Examples:
  gamut eval qrels.701-750.txt gov2.run                  the official measures
  gamut eval qrels.txt gov2.run -m map -m ndcg_cut.10,20 -q
                                                         some measures, of each query
  gamut eval qrels.txt bm25.run bp.run rm3.run           runs side by side, and whether they differ
  gamut eval qrels.txt old.run new.run -m map --diff 10  the queries that moved most

Measures, by the names of trec_eval. Cut-offs follow a point, as in P.5,10; what is printed, as P_5, is a name, too:
",
    );
    for family in MEASURES {
        text += &format!("  {:<22}{}\n", family.name, family.about);
    }
    text + "
Rankings go by score; where scores tie, the document with the later number comes first, as in trec_eval. Ranks in the
file are not read.

Exit code: 0; 1 if no query of a run has judgements; 2 for a file with a bad line, each of which is named."
}

/// A run that was measured.
pub struct Measured {
    /// What it is called: the name of its file.
    pub name: String,
    /// The sixth column of its last line.
    pub tag: String,
    /// The measures.
    pub scores: Scores,
}

/// Measures, and prints.
///
/// # Errors
/// A file that cannot be read or has bad lines; a measure that does not exist.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let from_stdin = args.runs.iter().chain([&args.qrels]).filter(|path| path.as_os_str() == "-").count();
    ensure!(from_stdin < 2, "standard input can be one file: name the others");
    ensure!(args.diff.is_none() || args.runs.len() > 1, "--diff compares runs: name a second one");
    let measures = measures(&args.measure, args.runs.len())?;
    ensure!(args.diff.is_none() || !measures.is_empty(), "--diff goes by a measure: name one by -m, such as -m map");
    let rules = Rules {
        relevant: args.level,
        depth: args.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX)),
        judged_only: args.judged_only,
    };
    let text = load(&args.qrels)?;
    let Some(qrels) = whole(&args.qrels, Qrels::parse(&text)) else { return Ok(ExitCode::from(2)) };
    let mut runs = Vec::new();
    for path in &args.runs {
        let text = load(path)?;
        let Some(run) = whole(path, Run::parse(&text)) else { return Ok(ExitCode::from(2)) };
        let scores = score(&qrels, &run, &measures, &rules, args.complete);
        if !are_judged((path, &run), (&args.qrels, &qrels), &scores) {
            return Ok(ExitCode::from(1));
        }
        let tag = String::from_utf8_lossy(run.tag).into_owned();
        runs.push(Measured { name: path.display().to_string(), tag, scores });
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match &runs[..] {
        _ if args.json => json(&mut out, args, &measures, &runs)?,
        [run] => trec(&mut out, args.queries, heads(&args.measure), &measures, run)?,
        runs => side_by_side(&mut out, args, &measures, runs)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Says how many queries of a run have no judgements; false if none has.
fn are_judged((run, read): (&Path, &Run<'_>), (qrels, judgements): (&Path, &Qrels<'_>), scores: &Scores) -> bool {
    let unknown = read.queries.keys().filter(|query| !judgements.queries.contains_key(*query)).count();
    if unknown > 0 {
        let (all, run) = (read.queries.len(), run.display());
        tell!("gamut: {run}: {unknown} of {all} queries have no judgements; they do not count");
    }
    if scores.queries.is_empty() {
        tell!("gamut: {}: no query has judgements in {}", run.display(), qrels.display());
    }
    !scores.queries.is_empty()
}

/// Judgements for a run file that is still to be written.
pub struct Judgements<'a> {
    qrels: &'a Path,
    text: Vec<u8>,
}

impl<'a> Judgements<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has bad lines, which were told.
    pub fn read(qrels: &'a Path) -> anyhow::Result<Self> {
        let text = load(qrels)?;
        if whole(qrels, Qrels::parse(&text)).is_none() {
            anyhow::bail!("{} has lines that are no judgements", qrels.display());
        }
        Ok(Self { qrels, text })
    }

    /// Prints the official measures of a run file; false if there are none, since no query has judgements.
    ///
    /// # Errors
    /// The file cannot be read, or has bad lines, which were told.
    pub fn measure(&self, run: &Path) -> anyhow::Result<bool> {
        let text = load(run)?;
        let (Some(judgements), Some(read)) =
            (whole(self.qrels, Qrels::parse(&self.text)), whole(run, Run::parse(&text)))
        else {
            anyhow::bail!("the run file is there, but was not measured");
        };
        let measures = OFFICIAL.iter().map(|name| parse(name)).collect::<crate::Result<Vec<_>>>()?.concat();
        let scores = score(&judgements, &read, &measures, &Rules::default(), false);
        if !are_judged((run, &read), (self.qrels, &judgements), &scores) {
            return Ok(false);
        }
        let tag = String::from_utf8_lossy(read.tag).into_owned();
        let measured = Measured { name: run.display().to_string(), tag, scores };
        let mut out = BufWriter::new(io::stdout().lock());
        trec(&mut out, false, heads(&[]), &measures, &measured)?;
        out.flush()?;
        Ok(true)
    }
}

/// The measures of these names; without names those that are usual for so many runs.
///
/// # Errors
/// [`crate::Error::UnknownName`] and others for a name that is none.
pub fn measures<'n>(names: &'n [String], runs: usize) -> crate::Result<Vec<Measure>> {
    let default = if runs > 1 { COMPARED } else { OFFICIAL };
    let all = || MEASURES.iter().map(|family| family.name).filter(|&name| name != "judged");
    let of_name = |name: &'n str| match name {
        "official" => OFFICIAL.to_vec(),
        "all_trec" => all().collect(),
        // they are no measures, and printed before these
        "num_q" | "runid" => Vec::new(),
        name => vec![name],
    };
    let named: Vec<&str> = match names {
        [] => default.to_vec(),
        named => named.iter().map(String::as_str).flat_map(of_name).collect(),
    };
    let mut measures = named.into_iter().map(parse).collect::<crate::Result<Vec<_>>>()?.concat();
    let mut seen = HashSet::new();
    measures.retain(|measure| seen.insert(measure.name.clone()));
    Ok(measures)
}

/// Whether an output of the measures of these names begins with the tag of the run and with the number of queries.
fn heads(names: &[String]) -> [bool; 2] {
    let is_asked = |head: &str| names.iter().any(|name| [head, "official", "all_trec"].contains(&name.as_str()));
    ["runid", "num_q"].map(|head| names.is_empty() || is_asked(head))
}

fn load(path: &Path) -> anyhow::Result<Vec<u8>> {
    let text = if path.as_os_str() == "-" { text_file::read(io::stdin()) } else { read_text(path) };
    text.with_context(|| format!("cannot read {}", path.display()))
}

/// The file, or nothing once its bad lines are told.
fn whole<T>(path: &Path, file: Result<T, BadFile>) -> Option<T> {
    let bad = match file {
        Ok(file) => return Some(file),
        Err(bad) => bad,
    };
    bad_lines(&path.display().to_string(), &bad).iter().for_each(|line| tell!("gamut: {line}"));
    None
}

/// What is wrong with the file of this name, a text for each bad line.
pub fn bad_lines(name: &str, bad: &BadFile) -> Vec<String> {
    let line = |(line, what): &(u64, String)| match line {
        0 => format!("{name}: {what}"),
        line => format!("{name}:{line}: {what}"),
    };
    let more = (bad.more > 0).then(|| format!("{name}: and {} more bad lines", bad.more));
    bad.lines.iter().map(line).chain(more).collect()
}

fn line(out: &mut impl Write, name: &str, query: &str, value: &str) -> io::Result<()> {
    // both may come from a file that somebody sent
    writeln!(out, "{name:<22}\t{}\t{}", printable(query), printable(value))
}

/// As trec_eval prints, with the values of each query, and with the run's tag and the number of queries, if wanted.
fn trec(
    out: &mut impl Write,
    queries: bool,
    [tag, count]: [bool; 2],
    measures: &[Measure],
    run: &Measured,
) -> io::Result<()> {
    if queries {
        for (query, values) in &run.scores.queries {
            let query = String::from_utf8_lossy(query);
            // a geometric mean is one of all queries
            let own = measures.iter().zip(values).filter(|(measure, _)| measure.combine() != Combine::GeometricMean);
            own.into_iter()
                .try_for_each(|(measure, value)| line(out, &measure.name, &query, &measure.shown(*value)))?;
        }
    }
    if tag {
        line(out, "runid", "all", &run.tag)?;
    }
    if count {
        line(out, "num_q", "all", &run.scores.queries.len().to_string())?;
    }
    let all = measures.iter().zip(&run.scores.all);
    all.into_iter().try_for_each(|(measure, value)| line(out, &measure.name, "all", &measure.shown(*value)))
}

/// How two runs differ in a measure, by their numbers.
struct Pair {
    measure: usize,
    runs: [usize; 2],
    queries: usize,
    difference: Difference,
    /// Corrected p-values.
    holm: [f64; 2],
}

/// The values of a measure for queries that both runs have.
fn paired(measure: usize, first: &Scores, second: &Scores) -> [Vec<f64>; 2] {
    let both = first.queries.iter().filter_map(|(query, a)| Some((a[measure], second.queries.get(query)?[measure])));
    let (a, b) = both.unzip();
    [a, b]
}

fn pairs(measures: &[Measure], runs: &[Measured], seed: u64) -> Vec<Pair> {
    let mut all = Vec::new();
    for (measure, _) in measures.iter().enumerate().filter(|(_, measure)| measure.combine() == Combine::Mean) {
        let begin = all.len();
        for a in 0..runs.len() {
            for b in a + 1..runs.len() {
                let [first, second] = paired(measure, &runs[a].scores, &runs[b].scores);
                let difference = compare(&first, &second, seed);
                all.push(Pair { measure, runs: [a, b], queries: first.len(), difference, holm: [0.0; 2] });
            }
        }
        let p = |of: fn(&Difference) -> f64| {
            holm(&all[begin..].iter().map(|pair| of(&pair.difference)).collect::<Vec<_>>())
        };
        let (t, random) = (p(|difference| difference.p_t), p(|difference| difference.p_random));
        all[begin..].iter_mut().zip(t.into_iter().zip(random)).for_each(|(pair, (t, random))| pair.holm = [t, random]);
    }
    all
}

/// Short names of runs: file names where those differ.
fn names(runs: &[Measured]) -> Vec<String> {
    let short = |run: &Measured| Path::new(&run.name).file_name().map(|name| name.to_string_lossy().into_owned());
    let names: Option<Vec<String>> = runs.iter().map(short).collect();
    let differ = |names: &Vec<String>| names.iter().collect::<std::collections::HashSet<_>>().len() == names.len();
    names.filter(differ).unwrap_or_else(|| runs.iter().map(|run| run.name.clone()).collect())
}

fn side_by_side(out: &mut impl Write, args: &Args, measures: &[Measure], runs: &[Measured]) -> io::Result<()> {
    let names = names(runs);
    let head = std::iter::once("measure".to_owned()).chain(names.iter().cloned()).collect();
    let row = |name: &str, value: &dyn Fn(&Measured) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(runs.iter().map(value)).collect()
    };
    let mut rows = vec![row("num_q", &|run| run.scores.queries.len().to_string())];
    if args.queries {
        let all: std::collections::BTreeSet<&Vec<u8>> = runs.iter().flat_map(|run| run.scores.queries.keys()).collect();
        for query in all {
            for (i, measure) in
                measures.iter().enumerate().filter(|(_, measure)| measure.combine() != Combine::GeometricMean)
            {
                let value =
                    |run: &Measured| run.scores.queries.get(query).map_or("-".to_owned(), |v| measure.shown(v[i]));
                rows.push(row(&format!("{} {}", measure.name, String::from_utf8_lossy(query)), &value));
            }
        }
    }
    for (i, measure) in measures.iter().enumerate() {
        rows.push(row(&measure.name, &|run| measure.shown(run.scores.all[i])));
    }
    Table { title: "Measures over all queries".to_owned(), names: 1, head, rows }.write(out)?;
    let pairs = pairs(measures, runs, args.seed);
    let row = |pair: &Pair| {
        let Difference { mean, t, p_t, p_random } = pair.difference;
        let [a, b] = pair.runs.map(|run| names[run].clone());
        let figures = [figure(t), p_value(p_t), p_value(pair.holm[0]), p_value(p_random), p_value(pair.holm[1])];
        let head = [measures[pair.measure].name.clone(), a, b, pair.queries.to_string(), format!("{mean:+.4}")];
        head.into_iter().chain(figures).collect()
    };
    let head = ["measure", "run", "and run", "queries", "difference", "t", "p (t)", "Holm", "p (random)", "Holm"];
    let title =
        format!("Differences of means, two-sided; random: {SIGN_FLIPS} sign flips, all of them up to 20 queries");
    let head = head.map(str::to_owned).to_vec();
    Table { title, names: 3, head, rows: pairs.iter().map(row).collect() }.write(out)?;
    for Moved { at, run, queries } in args.diff.map_or_else(Vec::new, |most| moved(measures, runs, most)) {
        let measure = &measures[at];
        let row = |(query, [a, b]): (String, [f64; 2])| {
            vec![query, measure.shown(a), measure.shown(b), format!("{:+.4}", a - b)]
        };
        let title = format!("{}: queries that moved most", measure.name);
        let head = ["query", &names[0], &names[run], "difference"].map(str::to_owned).to_vec();
        Table { title, names: 1, head, rows: queries.into_iter().map(row).collect() }.write(out)?;
    }
    Ok(())
}

fn p_value(p: f64) -> String {
    if p > 0.0 && p < 0.00005 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

/// The queries whose values of a measure differ most between the first run and another one.
struct Moved {
    /// Number of the measure.
    at: usize,
    /// Number of the other run.
    run: usize,
    /// With both values.
    queries: Vec<(String, [f64; 2])>,
}

/// `most` queries of each run but the first, by the first measure that is a mean: of how many documents there are, runs
/// seldom differ.
fn moved(measures: &[Measure], runs: &[Measured], most: u64) -> Vec<Moved> {
    let at = measures.iter().position(|measure| measure.combine() == Combine::Mean).unwrap_or(0);
    let of_run = |(run, measured): (usize, &Measured)| {
        let both = runs[0].scores.queries.iter().filter_map(|(query, values)| {
            Some((String::from_utf8_lossy(query).into_owned(), [values[at], measured.scores.queries.get(query)?[at]]))
        });
        let mut queries: Vec<_> = both.filter(|(_, [a, b])| a != b).collect();
        let distance = |[a, b]: [f64; 2]| (a - b).abs();
        queries.sort_by(|(_, one), (_, other)| distance(*other).total_cmp(&distance(*one)));
        queries.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Moved { at, run, queries }
    };
    runs.iter().enumerate().skip(1).map(of_run).collect()
}

fn json(out: &mut impl Write, args: &Args, measures: &[Measure], runs: &[Measured]) -> io::Result<()> {
    let mut object = report(&args.qrels.display().to_string(), measures, runs, args.queries, args.seed);
    if let Some(most) = args.diff {
        let of_run = |Moved { at, run, queries }: Moved| {
            let query = |(query, values): (String, [f64; 2])| serde_json::json!({ "query": query, "values": values });
            serde_json::json!({
                "measure": measures[at].name, "runs": [&runs[0].name, &runs[run].name],
                "queries": queries.into_iter().map(query).collect::<Vec<_>>(),
            })
        };
        object["moved"] = moved(measures, runs, most).into_iter().map(of_run).collect::<Vec<_>>().into();
    }
    serde_json::to_writer_pretty(&mut *out, &object)?;
    writeln!(out)
}

/// All that `--json` prints, with each query's values if they are wanted.
pub fn report(
    qrels: &str,
    measures: &[Measure],
    runs: &[Measured],
    with_queries: bool,
    seed: u64,
) -> serde_json::Value {
    let values = |values: &[f64]| -> BTreeMap<String, f64> {
        measures.iter().zip(values).map(|(measure, &value)| (measure.name.clone(), value)).collect()
    };
    let run = |run: &Measured| {
        let mut object = serde_json::json!({
            "run": run.name, "tag": run.tag, "num_q": run.scores.queries.len(), "measures": values(&run.scores.all),
        });
        if with_queries {
            let queries = run.scores.queries.iter();
            let queries: BTreeMap<_, _> =
                queries.map(|(query, of)| (String::from_utf8_lossy(query).into_owned(), values(of))).collect();
            object["queries"] = serde_json::json!(queries);
        }
        object
    };
    let pair = |pair: &Pair| {
        let Difference { mean, t, p_t, p_random } = pair.difference;
        serde_json::json!({
            "measure": measures[pair.measure].name, "runs": pair.runs.map(|run| &runs[run].name), "queries": pair.queries,
            "difference": mean, "t": t.is_finite().then_some(t), "p_t": p_t, "p_t_holm": pair.holm[0],
            "p_random": p_random, "p_random_holm": pair.holm[1],
        })
    };
    serde_json::json!({
        "qrels": qrels,
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
        "pairs": pairs(measures, runs, seed).iter().map(pair).collect::<Vec<_>>(),
    })
}
