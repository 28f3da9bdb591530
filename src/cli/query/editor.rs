//! The line editor of the prompt: history, kept between sessions, and completion of commands.

use super::prompt::{COMMANDS, Input, Source};
use super::settings::SETTINGS;
use anyhow::Context as _;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Helper};
use std::env;
use std::fs;
use std::path::PathBuf;

/// Lines that are remembered.
const HISTORY: usize = 1000;

/// Reads lines from a terminal.
pub struct Editor {
    editor: rustyline::Editor<Commands, FileHistory>,
    /// Where the history is kept, if there is a place for it.
    history: Option<PathBuf>,
}

/// Completes what starts with a colon.
struct Commands;

impl Helper for Commands {}
impl Highlighter for Commands {}
impl Validator for Commands {}

impl Hinter for Commands {
    type Hint = String;
}

impl Completer for Commands {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &rustyline::Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completions(&line[..at]))
    }
}

/// Where the last word of `line` starts, and what it could be.
fn completions(line: &str) -> (usize, Vec<String>) {
    if !line.starts_with(':') {
        return (line.len(), Vec::new());
    }
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let before: Vec<&str> = line[..start].split_whitespace().collect();
    let words: Vec<&str> = match before[..] {
        [] => {
            let mut words: Vec<&str> = COMMANDS.iter().filter_map(|row| row.0.split(' ').next()).collect();
            words.dedup();
            words
        }
        [":set"] => SETTINGS.iter().map(|row| row.name).collect(),
        [":explain"] => vec!["on", "off"],
        _ => Vec::new(),
    };
    let fits = words.into_iter().filter(|word| word.starts_with(&line[start..]));
    (start, fits.map(str::to_owned).collect())
}

/// The file of the history, by the XDG rules: state that is worth keeping, but no setting.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let dir = state.join("gamut");
    fs::create_dir_all(&dir).ok()?;
    Some(dir.join("query-history"))
}

impl Editor {
    /// On the terminal of this process, with the history of earlier sessions.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn open() -> anyhow::Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .auto_add_history(true)
            .build();
        let mut editor = rustyline::Editor::with_config(config).context("cannot use the terminal")?;
        editor.set_helper(Some(Commands));
        let history = history_file();
        if let Some(path) = &history {
            // none yet, or one that cannot be read: the prompt works without
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }

    /// Keeps the history.
    pub fn close(&mut self) {
        if let Some(path) = &self.history {
            // a convenience; not worth a word if the disk is full
            let _ = self.editor.save_history(path);
        }
    }
}

impl Source for Editor {
    fn next(&mut self) -> anyhow::Result<Input> {
        match self.editor.readline("gamut> ") {
            Ok(line) => Ok(Input::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Input::Given),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(error).context("cannot read from the terminal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_commands_and_settings_are_completed() {
        let of = |line: &str| {
            let (start, words) = completions(line);
            (start, words.join(" "))
        };
        assert_eq!(of(":s"), (0, ":set".to_owned()));
        assert_eq!(of(":set k"), (5, "k k1".to_owned()));
        assert_eq!(of(":set mo"), (5, "mode".to_owned()));
        assert_eq!(of(":explain o"), (9, "on off".to_owned()));
        assert_eq!(of(":set mode an"), (10, String::new()));
        assert_eq!(of("set k"), (5, String::new()), "a query");
    }
}
