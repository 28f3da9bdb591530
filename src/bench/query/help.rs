//! What the options offer, for their help.

use crate::query::and::AND;
use crate::query::engine;
use crate::query::method::{EngineKind, Registry};
use crate::query::or::OR;
use crate::query::schedule::BATCHING;
use crate::query::topk::TOPK;

fn methods<C, G>(registry: &Registry<C, G>, what: &str) -> String {
    let table =
        |engine| registry.on(engine).map(|row| format!("  {:<20} {}\n", row.name, row.about)).collect::<String>();
    let (cpu, gpu) = (table(EngineKind::Cpu), table(EngineKind::Gpu));
    let default = "default: each engine's fastest method";
    format!("Methods for {what}, comma-separated, or \"best\", or \"all\"; {default}:\n{cpu}On the GPU:\n{gpu}")
}

pub(super) fn or() -> String {
    methods(&OR, "OR")
}

pub(super) fn topk() -> String {
    methods(&TOPK, "the top k")
}

pub(super) fn batch() -> String {
    let rows = BATCHING.iter().map(|row| (row.name, row.parameter, row.about));
    let line =
        |(name, (parameter, _, usual), about)| format!("  {:<24} {about}\n", format!("{name}:{parameter}={usual}"));
    let head = "Queries in batches, too, packed in each of these ways, comma-separated, the usual parameter being left out or not";
    format!("{head}:\n{}", rows.map(line).collect::<String>())
}

pub(super) fn migrate() -> String {
    format!(
        "When queries of the engine griffin move from one processor to the other, comma-separated:{}",
        engine::help::migrate()
    )
}

pub(super) fn intersect() -> String {
    methods(&AND, "AND, with parameters as in pmf:levels=3")
}
