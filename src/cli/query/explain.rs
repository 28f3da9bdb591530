//! The plan and the work of an answer, as a table.

use super::answer::Times;
use super::auto::Reason;
use super::settings::Settings;
use super::steps;
use crate::cli::ui::printable;
use crate::pipeline::report::count as grouped;
use crate::query::and::{DAAT, RANGES, RANKED_AND};
use crate::query::engine::{Effort, EngineKind, Fallback, Methods, Trace};
use crate::query::gpu::{Report, Use};
use crate::query::or::{BLOCK_MAX_MAXSCORE, EXHAUSTIVE};
use crate::query::{Mode, TableOf, TermFacts, Work};
use std::io::{self, Write};

/// What an answer took.
pub struct Explained {
    /// The terms, in the order of the query.
    pub facts: Vec<TermFacts>,
    pub effort: Effort,
    /// Who was asked; somebody else may have answered.
    pub asked: EngineKind,
    /// Why, if the choice was left open.
    pub auto: Option<Reason>,
}

/// The explanation, for `--json`.
#[derive(serde::Serialize)]
pub struct Json<'a> {
    engine: &'static str,
    methods: Vec<(&'static str, String)>,
    /// What was expected, if the choice was left open.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<Reason>,
    terms: Vec<JsonTerm<'a>>,
    /// Documents considered for the best k with their whole score, on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pushed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<JsonDevice>,
    /// Where the steps ran, on both processors together.
    #[serde(skip_serializing_if = "Option::is_none")]
    griffin: Option<&'a Trace>,
    seconds: Times,
}

#[derive(serde::Serialize)]
struct JsonTerm<'a> {
    #[serde(flatten)]
    facts: &'a TermFacts,
    /// Blocks decoded and postings scored, on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scored: Option<u64>,
    /// Where the table of the list was, on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<TableOf>,
}

#[derive(serde::Serialize)]
struct JsonDevice {
    left_to_cpu: usize,
    blocks_decoded: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges_queued: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges_evaluated: Option<u32>,
    lists: JsonLists,
    passes: Vec<JsonPass>,
}

/// How the GPU's memory for lists was used.
#[derive(serde::Serialize)]
struct JsonLists {
    hits: u64,
    misses: u64,
    bytes_brought: u64,
    evicted: u64,
}

#[derive(serde::Serialize)]
struct JsonPass {
    name: &'static str,
    seconds: f64,
}

/// Why a device leaves a query to the CPU.
pub const LEFT_TO_CPU: &str = "lists, hits or terms do not fit on the device, or a weight is negative";

/// Columns of equal width: the first flush left, the others flush right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &width))| match c {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// Seconds in a unit that suits a query.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Where a list's table was.
fn table(table: TableOf) -> &'static str {
    match table {
        TableOf::None => "-",
        TableOf::Memory => "memory",
        TableOf::Index => "index",
    }
}

/// How the GPU's memory for lists was used. Lists of one posting are not counted.
fn use_of_lists(lists: &Use) -> String {
    let (found, asked, bytes, evicted) = (lists.hits, lists.asked(), lists.bytes(), lists.evicted);
    let [found, asked, bytes, evicted] = [found, asked, bytes, evicted].map(grouped);
    let rate = lists.hit_rate().map_or_else(String::new, |rate| format!(" ({:.0} %)", 100.0 * rate));
    format!("{found} of {asked}{rate} were in the GPU's memory; {bytes} bytes were brought, {evicted} lists dropped")
}

/// Terms of a table; a query may have thousands.
const MAX_ROWS: usize = 40;

impl Explained {
    /// The work per term of the query; `None` for terms that no document has, or if a device did it.
    fn work(&self) -> impl Iterator<Item = (&TermFacts, Option<crate::query::TermWork>)> {
        let mut known = match &self.effort {
            Effort::Cpu(work) => work.first().map_or(&[][..], |work| &work.terms),
            Effort::Gpu(_) => &[],
            Effort::Griffin(traces) => self.whole(traces).map_or(&[][..], |work| &work.terms),
        }
        .iter();
        self.facts.iter().map(move |facts| (facts, if facts.df > 0 { known.next().copied() } else { None }))
    }

    /// Which methods answered: what they did, and their names.
    fn methods(&self, settings: &Settings) -> Vec<(&'static str, String)> {
        let kind = self.answered();
        let methods = match settings.methods() {
            // with two processors the methods of the CPU are chosen, too
            Ok(methods) if kind == self.asked || settings.engine_kind() == EngineKind::Griffin => methods,
            // the CPU stands in for a device
            _ => Methods::default(),
        };
        methods.names(kind, settings.mode, settings.k)
    }

    /// What the CPU's `ranges` did where it had no table.
    fn instead(&self, what: &str, name: &str) -> Option<&'static str> {
        let of_cpu = self.answered() == EngineKind::Cpu && name == RANGES.name;
        if !of_cpu || self.work().any(|(_, work)| work.is_some_and(|work| work.table != TableOf::None)) {
            return None;
        }
        let negative = self.facts.iter().any(|facts| facts.weight < 0.0);
        match what {
            "all terms" => Some(if negative { RANKED_AND.name } else { DAAT.name }),
            "any term" => Some(if negative { EXHAUSTIVE.name } else { BLOCK_MAX_MAXSCORE.name }),
            _ => None,
        }
    }

    fn answered(&self) -> EngineKind {
        self.effort.answered()
    }

    /// Writes the table.
    ///
    /// # Errors
    /// Of `out`.
    pub fn write(
        &self,
        out: &mut impl Write,
        settings: &Settings,
        engine: &Fallback<'_>,
        times: Times,
    ) -> io::Result<()> {
        let searcher = engine.searcher();
        let mode = match settings.mode {
            Mode::And => "all terms",
            Mode::Or => "any term",
            Mode::AndOr => "all terms, else any",
        };
        let (scores, k) = (
            match searcher.impacts() {
                Some(_) => "impacts".to_owned(),
                None => format!("BM25, k1 = {}, b = {}", settings.k1, settings.b),
            },
            settings.k,
        );
        writeln!(out, "plan     {mode}; best {k} by {scores}; codec {}", searcher.codec_name())?;
        let methods: Vec<String> = self
            .methods(settings)
            .into_iter()
            .map(|(what, name)| match self.instead(what, &name) {
                Some(other) => format!("{what} by {name}, which here is {other}"),
                None => format!("{what} by {name}"),
            })
            .collect();
        let devices = if self.answered() == EngineKind::Cpu { &[] } else { engine.devices() };
        let name: String = devices.iter().map(|device| format!(", {}", device.gpu().report().name)).collect();
        writeln!(out, "engine   {}{name}: {}", self.answered().name(), methods.join(", "))?;
        if let Some(reason) = &self.auto {
            writeln!(out, "auto     {}", reason.line())?;
        }
        for device in devices {
            let (open, ready) = (device.gpu().opening(), device.ready());
            let [open, kernels, lists] = [open, ready.kernels, ready.preload].map(|time| duration(time.as_secs_f64()));
            let lists = if ready.preload.is_zero() { String::new() } else { format!(", {lists} to bring all lists") };
            writeln!(out, "ready    {open} to open the GPU, {kernels} to compile kernels{lists}; not counted below")?;
        }
        self.write_terms(out)?;
        match &self.effort {
            Effort::Cpu(work) => work.iter().try_for_each(|work| self.write_totals(out, work))?,
            Effort::Gpu(work) => self.write_device(out, work)?,
            Effort::Griffin(traces) => traces.iter().try_for_each(|trace| self.write_trace(out, trace))?,
        }
        let Times { analyse, plan, search } = times;
        let [analyse, plan, search, total] = [analyse, plan, search, times.total()].map(duration);
        writeln!(
            out,
            "time     {total}: {analyse} to analyse the query, {plan} to look its terms up, {search} to search"
        )
    }

    fn write_terms(&self, out: &mut impl Write) -> io::Result<()> {
        let on_cpu = match &self.effort {
            Effort::Cpu(_) => true,
            Effort::Gpu(_) => false,
            Effort::Griffin(traces) => self.whole(traces).is_some(),
        };
        let tables = self.work().any(|(_, work)| work.is_some_and(|work| work.table != TableOf::None));
        let mut head = vec!["term", "weight", "documents", "idf", "bytes", "blocks", "adds at most"];
        if on_cpu {
            head.extend(["decoded", "skipped", "scored"]);
            head.extend(tables.then_some("table"));
        }
        let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        for (facts, work) in self.work().take(MAX_ROWS) {
            let mut row = vec![printable(&facts.term), facts.weight.to_string(), grouped(facts.df)];
            if facts.df > 0 {
                row.extend([
                    format!("{:.3}", facts.idf),
                    grouped(facts.bytes),
                    grouped(facts.blocks),
                    format!("{:.4}", facts.bound),
                ]);
            }
            if let Some(work) = work {
                let skipped = work.blocks.saturating_sub(work.decoded);
                row.extend([work.decoded, skipped, work.scored].map(grouped));
                row.extend(tables.then(|| table(work.table).to_owned()));
            }
            rows.push(row);
        }
        write!(out, "{}", columns(&rows))?;
        if self.facts.len() > MAX_ROWS {
            writeln!(out, "… and {} more terms; --json shows all", grouped((self.facts.len() - MAX_ROWS) as u64))?;
        }
        Ok(())
    }

    fn write_totals(&self, out: &mut impl Write, work: &Work) -> io::Result<()> {
        let sum = |part: fn(&crate::query::TermWork) -> u64| work.terms.iter().map(part).sum::<u64>();
        let (blocks, decoded, scored) = (sum(|w| w.blocks), sum(|w| w.decoded), sum(|w| w.scored));
        let postings: u64 = self.facts.iter().map(|facts| facts.postings).sum();
        writeln!(
            out,
            "work     {} of {} blocks decoded, {} of {} postings scored, {} documents ranked",
            grouped(decoded),
            grouped(blocks),
            grouped(scored),
            grouped(postings),
            grouped(work.pushed)
        )
    }

    /// The CPU's work for a query that it answered as a whole.
    fn whole<'t>(&self, traces: &'t [Trace]) -> Option<&'t Work> {
        traces.first().and_then(|trace| trace.whole.as_ref())
    }

    fn write_trace(&self, out: &mut impl Write, trace: &Trace) -> io::Result<()> {
        steps::write(out, trace)?;
        trace.whole.iter().try_for_each(|work| self.write_totals(out, work))?;
        if trace.report.batches > 0 {
            writeln!(out, "lists    {}", use_of_lists(&trace.report.lists))?;
            write_passes(out, &trace.report)?;
        }
        Ok(())
    }

    fn write_device(&self, out: &mut impl Write, work: &Report) -> io::Result<()> {
        let blocks: u64 = self.facts.iter().map(|facts| facts.blocks).sum();
        // Each team that needs a block decodes it for itself, so it may count several times.
        let mut line = format!("{} times a block was decoded, of {}", grouped(work.decoded), grouped(blocks));
        if let Some(ranges) = work.ranges {
            let queued: Vec<String> = ranges.queued.iter().map(|&ranges| grouped(ranges.into())).collect();
            line += &format!("; ranges of docIDs queued in each wave: {}", queued.join(", "));
            line += &format!("; {} ranges evaluated", grouped(ranges.evaluated.into()));
        }
        writeln!(out, "work     {line}")?;
        if work.by_cpu > 0 {
            writeln!(out, "         the CPU answered: {LEFT_TO_CPU}")?;
        }
        writeln!(out, "lists    {}", use_of_lists(&work.lists))?;
        write_passes(out, work)
    }

    /// For `--json`.
    pub fn json(&self, settings: &Settings, times: Times) -> Json<'_> {
        let (pushed, device, griffin) = match &self.effort {
            Effort::Cpu(work) => (work.first().map(|work| work.pushed), None, None),
            Effort::Gpu(work) => (None, Some(work), None),
            Effort::Griffin(traces) => (None, traces.first().map(|trace| &trace.report), traces.first()),
        };
        let terms = self.work().map(|(facts, work)| JsonTerm {
            facts,
            decoded: work.map(|work| work.decoded),
            skipped: work.map(|work| work.blocks.saturating_sub(work.decoded)),
            scored: work.map(|work| work.scored),
            table: work.map(|work| work.table),
        });
        let device = device.map(|work| JsonDevice {
            left_to_cpu: work.by_cpu,
            blocks_decoded: work.decoded,
            ranges_queued: work.ranges.map(|ranges| ranges.queued.to_vec()),
            ranges_evaluated: work.ranges.map(|ranges| ranges.evaluated),
            lists: JsonLists {
                hits: work.lists.hits,
                misses: work.lists.misses,
                bytes_brought: work.lists.bytes(),
                evicted: work.lists.evicted,
            },
            passes: work.passes.iter().map(|&(name, seconds)| JsonPass { name, seconds }).collect(),
        });
        let terms = terms.collect();
        let (engine, methods) = (self.answered().name(), self.methods(settings));
        Json { engine, methods, auto: self.auto, terms, pushed, device, griffin, seconds: times }
    }
}

/// How long the passes of a device took, if they were timed.
fn write_passes(out: &mut impl Write, work: &Report) -> io::Result<()> {
    if work.passes.is_empty() {
        return Ok(());
    }
    let passes = work.passes.iter().map(|&(name, seconds)| format!("{name} {}", duration(seconds)));
    writeln!(out, "passes   {}", passes.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_numbers_and_times_are_readable() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(grouped), ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!([0.000_000_4, 0.000_25, 0.012_34, 2.5].map(duration), ["0 µs", "250 µs", "12.34 ms", "2.50 s"]);
    }

    #[test]
    fn test_use_of_lists() {
        let lists = Use { hits: 3, misses: 1, words: 500, evicted: 2, ..Use::default() };
        let expected = "3 of 4 (75 %) were in the GPU's memory; 2,000 bytes were brought, 2 lists dropped";
        assert_eq!(use_of_lists(&lists), expected);
        let none = "0 of 0 were in the GPU's memory; 0 bytes were brought, 0 lists dropped";
        assert_eq!(use_of_lists(&Use::default()), none);
    }

    #[test]
    fn test_columns_are_as_wide_as_their_cells() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let mut rows = vec![row(["term", "a", "long one"]), row(["größer", "12", "3"])];
        rows.push(vec!["x".to_owned()]);
        assert_eq!(columns(&rows), "term     a  long one\ngrößer  12         3\nx\n");
    }
}
