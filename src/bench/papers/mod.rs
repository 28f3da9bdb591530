//! `gamut bench papers`: the tables and figures of five papers, made again.
//!
//! **What is measured**: what the other benches measure, with the options that a paper's table or figure needs. They
//! are called as functions; each command line is part of the result. **Data**: synthetic collections from a seed, made
//! when they are first needed. **How**: each table or figure is an entry of its paper's file, with the paper's claims,
//! the printed numbers, and the rules that give verdicts. A finished entry is a file in the folder of results, so an
//! interrupted run goes on where it was.
//!
//! | file | its one job |
//! |---|---|
//! | `exhibit` | the registry of tables and figures |
//! | `verdict` | claims, rules, and verdicts as pure functions |
//! | `lab` | scale, device, collections, and calls of the other benches |
//! | `collections` | the collections that several papers share, and helpers to read rows |
//! | `sheet` | a finished table or figure as text, Markdown, CSV and SVG |
//! | `store` | files of finished ones, and the page that shows them |
//! | `ding`, `wu`, `capannini`, `ao`, `griffin` | a paper's tables, figures and claims |
//! | `ding_queries`, `wu_queries`, `ao_queries`, `ao_lists`, `ao_statistics`, `griffin_lists` | measurements of some |

mod ao;
mod ao_lists;
mod ao_queries;
mod ao_statistics;
mod capannini;
mod collections;
mod ding;
mod ding_queries;
mod exhibit;
mod griffin;
mod griffin_lists;
mod lab;
mod sheet;
mod store;
mod verdict;
mod wu;
mod wu_queries;

#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;

use super::table::Table;
use super::{hardware_gpu, say};
use crate::base::json;
use crate::gpu::{AdapterKind, AdapterReport};

use exhibit::{Chosen, Kind, Made};
use lab::{Lab, Scale};
use sheet::{Origin, Sheet};
use store::Store;

/// Make the tables and figures of five papers again: what was claimed, and what holds here.
///
/// For each one: the printed numbers, ours, and a verdict (holds, weaker, reversed, cannot be compared) by a rule that
/// gamut's source states. The papers are Ding et al. (WWW 2009), Wu et al. (I-SPAN 2009), Capannini et al. (IP&M
/// 2011), Ao et al. (PVLDB 2011) and Griffin (PPoPP 2018). Collections are synthetic. With -o, an interrupted run goes
/// on where it was.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut bench papers --list                                which there are, and which of them gamut makes
  gamut bench papers --paper ding --figure 6 --scale small one figure, a minute
  gamut bench papers --scale full -o out/papers            all of them, on a GPU server
  gamut bench papers -o out/papers --page docs/papers.md   write those in out/papers into a page")]
pub struct Args {
    /// Only of this paper: ding, wu, capannini, ao or griffin
    #[arg(long, value_name = "NAME")]
    paper: Option<String>,
    /// Only this figure, such as 6 or 9b
    #[arg(long, value_name = "N", conflicts_with = "table")]
    figure: Option<String>,
    /// Only this table, such as 2 or II
    #[arg(long, value_name = "N")]
    table: Option<String>,
    /// Folder for results: of each table or figure JSON, Markdown, CSV and SVG. What is there of the same configuration
    /// is not measured again
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["list", "paper", "figure", "table"])]
    output: Option<PathBuf>,
    /// How much is measured
    #[arg(long, value_enum, default_value = "small")]
    scale: Scale,
    /// Seed of the collections
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// GPU by name or by its number in `gamut devices`; software ones must be named
    #[arg(long, value_name = "NAME", default_value = "auto")]
    device: String,
    /// Measure again what is in --output
    #[arg(long, requires = "output")]
    again: bool,
    /// Measure nothing: write the tables and figures in --output, whatever made them, into the page FILE, between lines
    /// such as <!-- ding-figure-6 --> and <!-- end of ding-figure-6 -->, and their charts into a folder of its name
    /// beside it. Pages in that folder have places for them, too
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with_all = ["scale", "seed", "device", "again"])]
    page: Option<PathBuf>,
    /// List the tables and figures
    #[arg(long, conflicts_with_all = ["output", "page", "again"])]
    list: bool,
    /// Print JSON, one object a line for each table or figure
    #[arg(long, conflicts_with = "page")]
    json: bool,
}

/// Measures, and prints tables and verdicts.
///
/// # Errors
/// Names that no paper has, files that cannot be read or written, or what the benches return.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let wanted = match (&args.table, &args.figure) {
        (Some(table), _) => Some((Kind::Table, table.as_str())),
        (_, Some(figure)) => Some((Kind::Figure, figure.as_str())),
        _ => None,
    };
    let chosen = exhibit::choose(args.paper.as_deref(), wanted)?;
    let mut out = std::io::stdout().lock();
    if args.list && args.json {
        return Ok(chosen.iter().try_for_each(|one| json::line(&mut out, &named(one)))?);
    }
    if args.list {
        return Ok(list(&chosen).write(&mut out)?);
    }
    let store = args.output.as_deref().map(Store::new).transpose()?;
    if let (Some(page), Some(store)) = (&args.page, &store) {
        return store.write_page(page, &chosen);
    }
    let gpu = if args.device == "none" { None } else { hardware_gpu(&args.device)? };
    let report = gpu.map(|gpu| gpu.report().clone());
    let scratch = tempfile::tempdir().context("cannot make a folder for collections")?;
    let folder = lab::data_folder(args.output.as_deref().unwrap_or(scratch.path()), args.scale, args.seed);
    let mut lab = Lab::new(args.scale, args.seed, &args.device, report, folder);
    let mut left_out = 0;
    for &one in &chosen {
        if lab.gpu.is_none() && matches!(one.exhibit.made, Made::ByGpu(_)) {
            say(&format!("{} needs a GPU; it is left out", one.title()));
            left_out += 1;
            continue;
        }
        let found = store.as_ref().filter(|_| !args.again).and_then(|store| store.read(one));
        let fresh = found.filter(|sheet| is_fresh(sheet, one, &lab));
        let sheet = match fresh {
            Some(sheet) => {
                say(&format!("{} is there", one.title()));
                sheet
            }
            None => {
                say(&one.title());
                let sheet = make(one, &mut lab).with_context(|| one.title())?;
                if let Some(store) = &store {
                    store.write(one, &sheet)?;
                }
                sheet
            }
        };
        match args.json {
            true => json::line(&mut out, &object(one, &sheet))?,
            false => writeln!(out, "{}", sheet.text(one)?)?,
        }
        out.flush()?;
    }
    anyhow::ensure!(
        left_out < chosen.len(),
        "nothing was measured: no GPU; a software one must be named with --device"
    );
    Ok(())
}

/// What names a table or figure, for `--json`, and a line of `--list --json`.
fn named(one: &Chosen) -> serde_json::Value {
    serde_json::json!({
        "paper": one.paper.name, "kind": one.exhibit.kind.name(), "number": one.exhibit.number,
        "shows": one.exhibit.shows,
    })
}

/// A finished one, with its verdicts.
fn object(one: Chosen, sheet: &Sheet) -> serde_json::Value {
    let mut object = named(&one);
    object["sheet"] = serde_json::json!(sheet);
    object["verdicts"] = sheet.verdict_objects(one);
    object
}

/// Every table and figure, and what it needs.
fn list(chosen: &[Chosen]) -> Table {
    let row = |one: &Chosen| {
        let needs = if matches!(one.exhibit.made, Made::ByGpu(_)) { "a GPU" } else { "" };
        let shows = one.exhibit.shows.to_owned();
        vec![one.paper.name.to_owned(), one.exhibit.label(), needs.to_owned(), shows]
    };
    Table {
        title: format!("{} tables and figures with results", chosen.len()),
        names: 4,
        head: ["paper", "", "needs", "shows"].map(str::to_owned).to_vec(),
        rows: chosen.iter().map(row).collect(),
    }
}

/// Measures one.
fn make(one: Chosen, lab: &mut Lab) -> anyhow::Result<Sheet> {
    let (Made::By(measure) | Made::ByGpu(measure)) = one.exhibit.made;
    lab.data.clear();
    lab.commands.clear();
    let (paper, kind, number) = (one.paper.name, one.exhibit.kind.name(), one.exhibit.number);
    lab.commands.push(format!(
        "gamut bench papers --paper {paper} --{kind} {number} --scale {} --seed {}{}",
        lab.scale.name(),
        lab.seed,
        lab.device_option("")
    ));
    let start = Instant::now();
    let content = measure(lab)?;
    let (claims, evidence) = (one.exhibit.claims.len(), content.evidence.len());
    anyhow::ensure!(claims == evidence, "{claims} claims have {evidence} numbers");
    Ok(Sheet {
        origin: origin(lab),
        claims: said(one),
        seconds: start.elapsed().as_secs_f64(),
        // a collection may be asked for several times
        data: collections::distinct(lab.data.drain(..)),
        commands: std::mem::take(&mut lab.commands),
        content,
    })
}

fn said(one: Chosen) -> Vec<String> {
    one.exhibit.claims.iter().map(|claim| claim.says.to_owned()).collect()
}

fn origin(lab: &Lab) -> Origin {
    let of = |get: fn(&AdapterReport) -> &str| lab.gpu.as_ref().map_or(String::new(), |gpu| get(gpu).to_owned());
    Origin {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: store::today(),
        scale: lab.scale.name().to_owned(),
        seed: lab.seed,
        threads: rayon::current_num_threads(),
        device: of(|gpu| &gpu.name),
        driver: of(|gpu| &gpu.driver),
        software: lab.gpu.as_ref().is_some_and(|gpu| gpu.kind == AdapterKind::Software),
    }
}

/// Whether a finished one has the present configuration, on whatever day it was made, and numbers for today's claims.
fn is_fresh(sheet: &Sheet, one: Chosen, lab: &Lab) -> bool {
    let origin = Origin { date: sheet.origin.date.clone(), ..origin(lab) };
    sheet.origin == origin && sheet.claims == said(one)
}
