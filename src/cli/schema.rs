//! `gamut schema`: the JSON Schemas of what commands print with `--json`.

use std::io::Write as _;

use crate::base::json;
use crate::{Error, Result};

/// Print the JSON Schema of what a command prints with --json.
///
/// The schemas are JSON Schema, draft 2020-12. Without a command gamut lists those that have one. A schema with the
/// keyword `x-lines` describes each line of the output; the others describe the whole output.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut schema index
  gamut schema bench query
  gamut schema --json | jq -r '.commands[]'

Exit code: 0 if done, 2 if there is no such command.")]
pub struct Args {
    /// Command whose schema to print
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Print the list of commands as JSON; a schema is JSON in any case
    #[arg(long)]
    json: bool,
}

macro_rules! schemas {
    ($($command:literal $file:literal,)*) => {
        /// Commands, and the schema of each.
        pub const SCHEMAS: &[(&str, &str)] =
            &[$(($command, include_str!(concat!("../../docs/schemas/", $file, ".json"))),)*];
    };
}

schemas! {
    "append" "append",
    "bench build" "bench-build",
    "bench codecs" "bench-codecs",
    "bench inflate" "bench-inflate",
    "bench intersect" "bench-intersect",
    "bench load" "bench-load",
    "bench papers" "bench-papers",
    "bench query" "bench-query",
    "bench read" "bench-read",
    "bench sort" "bench-sort",
    "bench transfer" "bench-transfer",
    "calibrate" "calibrate",
    "compare" "compare",
    "completions" "completions",
    "delete" "delete",
    "demo" "demo",
    "devices" "devices",
    "dump" "dump",
    "eval" "eval",
    "export" "export",
    "import" "import",
    "index" "index",
    "man" "man",
    "merge" "merge",
    "query" "query",
    "reencode" "reencode",
    "reorder" "reorder",
    "schema" "schema",
    "score" "score",
    "serve" "serve",
    "stats" "stats",
    "synth" "synth",
    "verify" "verify",
}

/// The schema of a command.
///
/// # Errors
/// [`Error::UnknownName`] if no command of that name prints JSON.
pub fn of(command: &str) -> Result<&'static str> {
    let found = SCHEMAS.iter().find(|(name, _)| *name == command).map(|(_, schema)| *schema);
    found.ok_or_else(|| Error::UnknownName { kind: "command", name: command.to_owned(), choices: names().join(", ") })
}

/// The commands with schemas, as a table for the documentation.
pub fn markdown() -> String {
    let row = |(name, schema): &(&str, &str)| {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap_or_default();
        let what = schema["description"].as_str().unwrap_or_default();
        format!("| [`{name}`](schemas/{}.json) | {what} |\n", name.replace(' ', "-"))
    };
    format!("| command | what it prints |\n|---|---|\n{}", SCHEMAS.iter().map(row).collect::<String>())
}

fn names() -> Vec<&'static str> {
    SCHEMAS.iter().map(|(name, _)| *name).collect()
}

/// Prints.
///
/// # Errors
/// There is no such command; standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match (args.command.is_empty(), args.json) {
        (false, _) => out.write_all(of(&args.command.join(" "))?.as_bytes())?,
        (true, true) => json::document(&mut out, &serde_json::json!({ "commands": names() }))?,
        (true, false) => writeln!(out, "{}", names().join("\n"))?,
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// Commands that do something themselves.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let path = format!("{path} {}", one.get_name()).trim().to_owned();
            if one.has_subcommands() {
                leaves(one, &path, found);
            } else {
                assert!(one.get_arguments().any(|arg| arg.get_long() == Some("json")), "{path} has no --json");
                found.push(path);
            }
        }
    }

    #[test]
    fn test_every_command_speaks_json_and_has_a_schema() {
        let mut found = Vec::new();
        leaves(&crate::cli::command(), "", &mut found);
        found.sort();
        assert_eq!(found, names());
        for (name, schema) in SCHEMAS {
            let schema: serde_json::Value = serde_json::from_str(schema).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(schema["title"], format!("gamut {name} --json"));
            assert!(schema["description"].is_string(), "{name}");
            undescribed(&schema, name);
        }
        assert!(of("bench nonsense").is_err_and(|error| error.to_string().contains("bench query")));
    }

    /// Every property says what it is, and objects have no others.
    fn undescribed(schema: &serde_json::Value, at: &str) {
        if let Some(properties) = schema["properties"].as_object() {
            assert!(!schema["additionalProperties"].is_null(), "{at}: are there others?");
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{at}.{name} has no description");
            }
        }
        match schema {
            serde_json::Value::Object(all) => {
                all.iter().for_each(|(key, value)| undescribed(value, &format!("{at}.{key}")))
            }
            serde_json::Value::Array(all) => all.iter().for_each(|value| undescribed(value, at)),
            _ => {}
        }
    }
}
