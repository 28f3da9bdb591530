//! Times of single steps of conjunctions on each processor, and of moves between them.

use super::measure::{Query, above_0};
use crate::bench::median;
use crate::gpu::Gpu;
use crate::query::cost::{MeasuredSteps, StepFeatures};
use crate::query::engine::{Answers, Effort, Engine as _, Griffin, GriffinMethods, Methods, Trace};
use crate::query::gpu::{GpuEngine, Options};
use crate::query::migrate::{Machine, Migration};
use crate::query::{Mode, Searcher};
use anyhow::bail;

/// Rules by which every step is on either processor, and behind a move.
const RULES: [&str; 4] = ["fixed=cpu", "fixed=gpu", "fixed=gpu-cpu", "fixed=cpu-gpu"];
/// The steps of so many queries are measured.
const QUERIES: usize = 400;
/// So many of these have three terms or more, where there are enough: others have one step, and never move.
const LONG: usize = 300;

/// The queries that are measured, the longer ones first.
pub(super) fn chosen(queries: &[Query]) -> Vec<&Query> {
    let (long, short): (Vec<&Query>, Vec<&Query>) = queries.iter().partition(|query| query.plan.terms.len() > 2);
    let long = long.into_iter().take(LONG);
    long.chain(short).take(QUERIES).collect()
}

/// Seconds of the steps of some queries by each of these rules, behind a round that does not count. Of each step the
/// middle time is taken.
///
/// # Errors
/// A method that does not read the codec, a damaged index, or a device that is lost.
pub(super) fn measure(
    searcher: &Searcher<'_>,
    gpu: &Gpu,
    methods: &Methods,
    queries: &[&Query],
    rounds: u32,
) -> anyhow::Result<MeasuredSteps> {
    let device = GpuEngine::new(searcher, gpu, Options::default(), methods.gpu.clone(), Mode::And)?;
    let mut engine = Griffin::new(device, methods.griffin.clone(), methods.cpu);
    let mut measured = MeasuredSteps::default();
    for rule in RULES {
        let migration = Migration::parse(rule)?;
        engine.change(GriffinMethods { migration, ..methods.griffin.clone() }, methods.cpu)?;
        let mut traces: Vec<Vec<Trace>> = vec![Vec::new(); queries.len()];
        for round in 0..=rounds {
            for (query, traces) in queries.iter().zip(&mut traces) {
                let trace = trace(engine.search_one(&query.plan, Mode::And, query.k)?)?;
                if round > 0 {
                    traces.push(trace);
                }
            }
        }
        queries.iter().zip(&traces).for_each(|(query, traces)| add(&mut measured, query, traces));
    }
    Ok(measured)
}

fn trace(Answers { effort, .. }: Answers) -> anyhow::Result<Trace> {
    match effort {
        Effort::Griffin(mut traces) if traces.len() == 1 => Ok(traces.remove(0)),
        _ => bail!("another engine answered"),
    }
}

/// The steps of a query that ran several times, the same way each time.
pub(super) fn add(measured: &mut MeasuredSteps, query: &Query, traces: &[Trace]) {
    let Some(steps) = traces.first().map(|trace| &trace.steps) else { return };
    let lists = query.plan.terms.len().saturating_sub(1).max(1);
    for (at, step) in steps.iter().enumerate() {
        let same = || traces.iter().filter_map(|trace| Some((trace, trace.steps.get(at)?)));
        // what brought lists is no time of a step
        if same().any(|(_, other)| other.on != step.on || other.brought > 0 || other.no_room) {
            continue;
        }
        let of = usize::from(step.on == Machine::Gpu);
        let last = at + 1 == lists;
        let took = same().map(|(trace, step)| step.seconds + if last { trace.ranking } else { 0.0 });
        let last = last.then_some(query.k as u32);
        let features = StepFeatures { candidates: step.candidates, list: step.list, first: at == 0, last };
        measured.steps[of].push((features, above_0(median(&took.collect::<Vec<_>>()))));
        let moves: Vec<f64> = same().filter_map(|(_, step)| Some(step.moved?.seconds)).collect();
        if !moves.is_empty() {
            measured.moves[of].push((step.candidates, above_0(median(&moves))));
        }
    }
}
