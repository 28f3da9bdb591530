//! The registries of the query wing in words: tables for the docs.

use std::fmt::Write as _;

use super::and::AND;
use super::engine::PRESETS;
use super::method::{EngineKind, Registry};
use super::migrate::RULES;
use super::or::OR;
use super::schedule::BATCHING;
use super::topk::TOPK;

/// Tables in Markdown, each with its name: methods of AND, OR and the top k, ways to pack batches, rules for moving
/// queries, and presets, each with where it is described.
pub fn tables() -> [(&'static str, String); 6] {
    let batching = BATCHING.iter().map(|row| [row.name, "a GPU", row.about, row.paper]);
    let presets = PRESETS.iter().map(|row| [row.name, "both", row.about, row.paper]);
    [
        ("and", methods(&AND)),
        ("or", methods(&OR)),
        ("topk", methods(&TOPK)),
        ("batching", table(batching)),
        ("migrate", table(RULES.iter().map(|row| [row.name, "both", row.about, row.paper]))),
        ("presets", table(presets)),
    ]
}

fn methods<C, G>(registry: &Registry<C, G>) -> String {
    table(registry.rows.iter().map(|row| {
        let machines = match (row.runs_on(EngineKind::Cpu), row.runs_on(EngineKind::Gpu)) {
            (true, true) => "both",
            (true, false) => "the CPU",
            _ => "a GPU",
        };
        [row.name, machines, row.about, row.paper]
    }))
}

fn table<'r>(rows: impl Iterator<Item = [&'r str; 4]>) -> String {
    let mut text = String::from("| name | runs on | what it does | from |\n|---|---|---|---|\n");
    for row in rows {
        let [name, machines, about, paper] = row.map(|cell| cell.replace('|', "\\|"));
        // writing to a String cannot fail
        let _ = writeln!(text, "| `{name}` | {machines} | {about} | {paper} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_every_row_stands_in_its_table_once() {
        let [and, or, topk, batching, migrate, presets] = tables().map(|(_, table)| table);
        let names = [
            (and, AND.rows.iter().map(|row| row.name).collect::<Vec<_>>()),
            (or, OR.rows.iter().map(|row| row.name).collect()),
            (topk, TOPK.rows.iter().map(|row| row.name).collect()),
            (migrate, RULES.iter().map(|row| row.name).collect()),
            (batching, BATCHING.iter().map(|row| row.name).collect()),
            (presets, PRESETS.iter().map(|row| row.name).collect()),
        ];
        for (table, names) in names {
            assert_eq!(table.lines().count(), 2 + names.len());
            assert!(names.iter().all(|name| table.matches(&format!("| `{name}` |")).count() == 1), "{table}");
            assert!(table.lines().all(|line| line.replace("\\|", "").matches('|').count() == 5), "{table}");
        }
    }
}
