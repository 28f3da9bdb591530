//! `gamut man`: manual pages, made from the help texts.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::output::Output;
use crate::base::json;
use crate::{Error, Result};

/// Print a manual page, or write those of all commands.
///
/// A page has the text of `--help`, for `man`. Each command has one: gamut.1, gamut-index.1, gamut-bench-query.1 and
/// so on.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gamut man query | man -l -                      read a page
  gamut man bench load > gamut-bench-load.1       write one
  gamut man -o ~/.local/share/man/man1            write all; then `man gamut-query` finds them")]
pub struct Args {
    /// Command whose page to print [default: the page of gamut itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Write the pages of all commands to this directory. Pages that are there are replaced
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON object instead: the page, or the names of the files
    #[arg(long)]
    json: bool,
}

/// Prints a page, or writes all, and their names to standard output.
///
/// # Errors
/// There is no such command, or something cannot be written.
pub fn run(args: &Args, command: &Command) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let Some(folder) = &args.output else {
        let page = page(found(command, &args.command)?);
        match args.json {
            true => json::document(&mut out, &serde_json::json!({ "page": String::from_utf8_lossy(&page) }))?,
            false => out.write_all(&page)?,
        }
        return Ok(out.flush()?);
    };
    std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
    let mut files = Vec::new();
    for (name, page) in pages(command) {
        let path = folder.join(name);
        let mut file = Output::create(&path)?;
        file.write(&page)?;
        file.finish()?;
        files.push(path);
    }
    match args.json {
        true => json::document(&mut out, &serde_json::json!({ "files": json::paths(&files) }))?,
        false => files.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?,
    }
    out.flush().context("cannot write the names of the files")
}

/// The command that words name.
fn found<'a>(command: &'a Command, words: &[String]) -> Result<&'a Command> {
    let mut at = command;
    for word in words {
        at = at.find_subcommand(word).ok_or_else(|| Error::UnknownName {
            kind: "command",
            name: words.join(" "),
            choices: subcommands(at).map(Command::get_name).collect::<Vec<_>>().join(", "),
        })?;
    }
    Ok(at)
}

/// Those with pages: all but clap's own `help`.
fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set())
}

/// The file names and pages of a command that is built, and of all below it.
fn pages(command: &Command) -> Vec<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let own = (format!("{name}.1"), page(command));
    std::iter::once(own).chain(subcommands(command).flat_map(pages)).collect()
}

/// The page of a command that is built.
fn page(command: &Command) -> Vec<u8> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let is_parent = subcommands(command).next().is_some();
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .section("1")
        .source(concat!("gamut ", env!("CARGO_PKG_VERSION")))
        .manual("gamut");
    let mut page = Vec::new();
    // writing to a Vec does not fail
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if is_parent {
        let _ = man.render_subcommands_section(&mut page);
    }
    let mut end = Roff::new();
    if let Some(text) = after {
        end.control("SH", ["NOTES"]);
        // examples and lists keep their lines
        end.control("nf", []);
        text.lines().for_each(|line| {
            end.text([roman(line)]);
        });
        end.control("fi", []);
    }
    end.control("SH", ["SEE ALSO"]);
    let others = match is_parent {
        true => subcommands(command).filter_map(Command::get_display_name).collect(),
        false => vec![name.rsplit_once('-').map_or("gamut", |(parent, _)| parent)],
    };
    end.text([roman(others.iter().map(|name| format!("{name}(1)")).collect::<Vec<_>>().join(", "))]);
    let _ = end.to_writer(&mut page);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_every_command_has_a_page_with_all_its_options() {
        fn all(command: &Command) -> Vec<&Command> {
            std::iter::once(command).chain(subcommands(command).flat_map(all)).collect()
        }
        let command = crate::cli::command();
        let (commands, pages) = (all(&command), pages(&command));
        assert_eq!(commands.len(), pages.len());
        assert!(pages.len() > 25 && pages.iter().any(|(name, _)| name == "gamut-bench-load.1"));
        for (command, (name, page)) in commands.iter().zip(&pages) {
            let text = String::from_utf8(page.clone()).unwrap().replace("\\-", "-");
            assert!(text.contains(".SH NAME\n") && text.contains(".SH SYNOPSIS\n"), "{name}");
            assert!(text.contains(".SH \"SEE ALSO\"\n"), "{name}");
            for long in command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long) {
                assert!(text.contains(&format!("--{long}")), "{name} lacks --{long}");
            }
            for line in text.lines() {
                let known = [".TH", ".SH", ".TP", ".nf", ".fi", ".RS", ".RE", ".ie", ".el", ".PP", ".br", ".IP"];
                assert!(
                    !line.starts_with('.') || known.iter().any(|macro_| line.starts_with(macro_)),
                    "{name}: {line}"
                );
            }
        }
    }

    #[test]
    fn test_words_name_a_command() {
        let command = crate::cli::command();
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            found(&command, &words).map(|command| command.get_display_name().unwrap_or("gamut").to_owned())
        };
        assert_eq!((of("").unwrap(), of("bench load").unwrap()), ("gamut".to_owned(), "gamut-bench-load".to_owned()));
        let error = of("bench nonsense").unwrap_err().to_string();
        assert!(error.contains("bench nonsense") && error.contains("intersect"), "{error}");
    }
}
