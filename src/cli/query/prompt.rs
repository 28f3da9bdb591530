//! Queries one after the other: at a prompt, or from standard input, a line each.

use super::answer::{Answer, ask, say_why};
use super::devices::Devices;
use super::editor::Editor;
use super::explain::duration;
use super::settings::{AUTO, SETTINGS, Settings};
use crate::Error;
use crate::base::text_file;
use crate::index::Index;
use crate::query::engine::{EngineKind, Fallback};
use anyhow::Context as _;
use std::io::{self, BufRead, Read as _, Write};
use std::process::ExitCode;

/// What comes next.
pub enum Input {
    /// A line, without its end.
    Line(String),
    /// A line that was given up (Ctrl-C).
    Given,
    /// Nothing more.
    End,
}

/// Where lines come from.
pub trait Source {
    /// The next line.
    ///
    /// # Errors
    /// It cannot be read.
    fn next(&mut self) -> anyhow::Result<Input>;
}

/// A line is not longer: 10,000 terms are some 100 KB.
const MAX_LINE: u64 = 16 << 20;

/// Lines of a stream.
pub struct Lines<R>(pub R);

impl<R: BufRead> Source for Lines<R> {
    fn next(&mut self) -> anyhow::Result<Input> {
        let mut line = Vec::new();
        self.0.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).context("cannot read the queries")?;
        if line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
            anyhow::bail!("a line of the queries is longer than {} MiB", MAX_LINE >> 20);
        }
        if line.is_empty() {
            return Ok(Input::End);
        }
        Ok(Input::Line(text_file::line(&line).trim_end_matches(['\n', '\r']).to_owned()))
    }
}

/// A command of the prompt, for its help.
pub const COMMANDS: &[(&str, &str)] = &[
    (":set", "print all settings"),
    (
        ":set NAME VALUE …",
        "change settings, as in `:set k 20` or `:set engine gpu device 0`; auto restores the default",
    ),
    (":explain on|off", "print the plan after each answer: what was decoded and skipped, and the times"),
    (":help", "print this help"),
    (":quit", "leave; Ctrl-D does the same"),
];

/// Answers lines until there are no more.
struct Session<'s> {
    index: &'s Index,
    settings: Settings,
    devices: Devices,
    /// Lines may be commands, and get a remark on the time; else every answer is headed by its query.
    prompt: bool,
    json: bool,
    found: bool,
    failed: bool,
}

/// Why a loop over lines with one engine ended.
enum Turn {
    End,
    /// The settings are others, so another engine may be needed.
    Changed(Box<Settings>),
}

/// What ends it before that.
enum Stop {
    /// There is no engine for the settings.
    NoEngine(Error),
    Failed(anyhow::Error),
}

impl<'s> Session<'s> {
    fn new(index: &'s Index, settings: Settings, devices: Devices, prompt: bool, json: bool) -> Self {
        Self { index, settings, devices, prompt, json, found: false, failed: false }
    }

    /// Answers what comes from `source`.
    ///
    /// # Errors
    /// The settings that the session starts with have no engine; a line cannot be read; an answer cannot be written.
    fn serve(&mut self, source: &mut dyn Source, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut before: Option<Settings> = None;
        loop {
            match (self.round(source, out), before.take()) {
                (Ok(Turn::End), _) => return Ok(()),
                (Ok(Turn::Changed(new)), _) => before = Some(std::mem::replace(&mut self.settings, *new)),
                (Err(Stop::NoEngine(error)), Some(old)) => {
                    say(&format!("{error}; the setting stays as it was"));
                    self.settings = old;
                }
                (Err(Stop::NoEngine(error)), None) => return Err(error.into()),
                (Err(Stop::Failed(error)), _) => return Err(error),
            }
        }
    }

    /// Makes the engine that the settings mean and answers lines with it.
    fn round(&mut self, source: &mut dyn Source, out: &mut dyn Write) -> Result<Turn, Stop> {
        let searcher = self.settings.searcher(self.index).map_err(Stop::NoEngine)?;
        let mut engine = self.settings.engine(&searcher, &mut self.devices).map_err(Stop::NoEngine)?;
        self.turns(source, out, &mut engine).map_err(Stop::Failed)
    }

    /// Answers lines with one engine.
    fn turns(
        &mut self,
        source: &mut dyn Source,
        out: &mut dyn Write,
        engine: &mut Fallback<'_>,
    ) -> anyhow::Result<Turn> {
        loop {
            let line = match source.next()? {
                Input::Line(line) => line,
                Input::Given => continue,
                Input::End => return Ok(Turn::End),
            };
            let text = line.trim();
            match text.strip_prefix(':').filter(|_| self.prompt) {
                Some(command) => match self.command(command, out)? {
                    Done::Quit => return Ok(Turn::End),
                    Done::Same => {}
                    Done::Changed(new) if new.same_engine(&self.settings, !engine.devices().is_empty()) => {
                        engine.set_cpu_methods(new.methods()?.cpu);
                        self.settings = *new;
                    }
                    Done::Changed(new) => return Ok(Turn::Changed(new)),
                },
                None if text.is_empty() => {}
                None => self.query(text, out, engine)?,
            }
        }
    }

    /// Answers a query. An answer that cannot be written is an error, and an index that was written to: no later
    /// answer would be any better.
    fn query(&mut self, text: &str, out: &mut dyn Write, engine: &mut Fallback<'_>) -> anyhow::Result<()> {
        let answer = match ask(&self.settings, engine, text) {
            Ok(answer) => answer,
            Err(error @ Error::Changed { .. }) => return Err(error.into()),
            Err(error) => {
                self.failed = true;
                say(&error.to_string());
                return Ok(());
            }
        };
        self.found |= !answer.hits.is_empty();
        let mut text = Vec::new();
        match self.json {
            true => answer.write_json(&mut text, &self.settings, engine.searcher(), false),
            false => self.write(&answer, &mut text, engine),
        }?;
        self.index.unchanged()?;
        out.write_all(&text).and_then(|()| out.flush()).context("cannot write the results")?;
        if answer.hits.is_empty() {
            say_why(engine, &answer.query, self.settings.mode);
        }
        Ok(())
    }

    fn write(&self, answer: &Answer, out: &mut impl Write, engine: &Fallback<'_>) -> io::Result<()> {
        if !self.prompt {
            writeln!(out, "> {}", answer.text)?;
        }
        answer.write(out, &self.settings, engine)?;
        match (self.prompt, self.settings.explain) {
            (true, false) => {
                let hits = answer.hits.len();
                let documents = if hits == 1 { "document" } else { "documents" };
                writeln!(out, "{hits} {documents} in {}", duration(answer.times.total()))
            }
            (true, true) => Ok(()),
            (false, _) => writeln!(out),
        }
    }

    fn command(&self, command: &str, out: &mut dyn Write) -> anyhow::Result<Done> {
        let words: Vec<&str> =
            command.split(|c: char| c.is_whitespace() || c == '=').filter(|w| !w.is_empty()).collect();
        match words[..] {
            ["quit" | "q" | "exit"] => return Ok(Done::Quit),
            ["help" | "h" | "?"] => self.help(out)?,
            ["set"] => self.show(out)?,
            ["set", name] => match SETTINGS.iter().find(|row| row.name == setting(name)) {
                Some(row) => writeln!(out, "{} {}", row.name, (row.show)(&self.settings))?,
                None => say(&unknown(name)),
            },
            ["set", ref pairs @ ..] if pairs.len().is_multiple_of(2) => return Ok(self.changed(pairs)),
            ["explain", value] => return Ok(self.changed(&["explain", value])),
            ["explain"] => return Ok(self.changed(&["explain", if self.settings.explain { "off" } else { "on" }])),
            _ => say(&format!("no command \":{}\"; :help lists the commands", command.trim())),
        }
        out.flush()?;
        Ok(Done::Same)
    }

    /// The settings with some of them changed, names and values in turn, if that makes sense.
    fn changed(&self, pairs: &[&str]) -> Done {
        let mut new = self.settings.clone();
        for pair in pairs.chunks_exact(2) {
            let (name, value) = (pair[0], pair[1]);
            let Some(row) = SETTINGS.iter().find(|row| row.name == setting(name)) else {
                say(&unknown(name));
                return Done::Same;
            };
            if let Err(why) = (row.put)(&mut new, value) {
                say(&format!("{} {value}: {why}", row.name));
                return Done::Same;
            }
        }
        let on_cpu = new.engine_kind() == EngineKind::Cpu && !new.is_auto();
        if on_cpu && (self.settings.engine_kind() != EngineKind::Cpu || self.settings.is_auto()) {
            // what says how a GPU is used has no meaning any more
            (new.device, new.gpu_memory, new.preload) = (None, None, false);
        }
        if new.engine_kind() != EngineKind::Griffin && self.settings.engine_kind() == EngineKind::Griffin {
            new.migrate = None;
        }
        match new.check() {
            Ok(()) => Done::Changed(Box::new(new)),
            Err(error) => {
                say(&error.to_string());
                Done::Same
            }
        }
    }

    fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = SETTINGS.iter().map(|row| row.name.len()).max().unwrap_or(0);
        SETTINGS.iter().try_for_each(|row| writeln!(out, "{:width$}  {}", row.name, (row.show)(&self.settings)))
    }

    fn help(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = COMMANDS.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        writeln!(out, "A line is a query; a line that starts with a colon is a command:")?;
        COMMANDS.iter().try_for_each(|(command, about)| writeln!(out, "  {command:width$}  {about}"))?;
        writeln!(out, "Settings are the options of `gamut query --help`; {AUTO} is the default.")
    }
}

/// What a command leads to.
enum Done {
    Quit,
    Same,
    Changed(Box<Settings>),
}

/// A setting's name, however it was typed.
fn setting(name: &str) -> &str {
    name.trim_start_matches('-')
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = SETTINGS.iter().map(|row| row.name).collect();
    format!("no setting \"{name}\"; choose one of {}", names.join(", "))
}

fn say(line: &str) {
    tell!("gamut: {line}");
}

/// A prompt on the terminal, until the user leaves.
///
/// # Errors
/// There is no engine for the settings; the terminal cannot be read or written.
pub fn run(index: &Index, settings: Settings, devices: Devices) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    let documents = crate::pipeline::report::count(index.statistics().documents);
    writeln!(out, "{documents} documents in {}; :help lists the commands", index.dir().display())?;
    let mut editor = Editor::open()?;
    let mut session = Session::new(index, settings, devices, true, false);
    let served = session.serve(&mut editor, &mut out);
    editor.close();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Answers the lines of standard input.
///
/// # Errors
/// There is no engine for the settings; there is no line; the answers cannot be written.
pub fn lines(index: &Index, settings: &Settings, devices: Devices, json: bool) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(index, settings.clone(), devices, false, json);
    let mut source = Counted { lines: Lines(io::stdin().lock()), some: false };
    session.serve(&mut source, &mut io::stdout().lock())?;
    if !source.some {
        anyhow::bail!("no query: give one after the index, a line each on standard input, or a file by --topics");
    }
    Ok(match (session.failed, session.found) {
        (true, _) => ExitCode::from(2),
        (false, found) => ExitCode::from(u8::from(!found)),
    })
}

/// Knows whether there was a line with something on it.
struct Counted<S> {
    lines: S,
    some: bool,
}

impl<S: Source> Source for Counted<S> {
    fn next(&mut self) -> anyhow::Result<Input> {
        let input = self.lines.next()?;
        self.some |= matches!(&input, Input::Line(line) if !line.trim().is_empty());
        Ok(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, Text, build};
    use crate::query::Mode;
    use clap::{Args as _, FromArgMatches as _};

    fn defaults() -> Settings {
        let command = Settings::augment_args(clap::Command::new("query"));
        Settings::from_arg_matches(&command.get_matches_from(["query"])).unwrap()
    }

    /// Answers `lines` at a prompt; what was written, and the settings at the end.
    fn session(lines: &str) -> (String, Settings) {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        let texts: Vec<Text<'_>> =
            (0..20).map(|i| ("id", "", "", if i % 2 == 0 { "all even" } else { "all" })).collect();
        let codecs = crate::codec::parse_list("vbyte,simdbp").unwrap();
        build(&target, &texts, &Plan { impacts: Some(2), codecs, ..Plan::default() }).unwrap();
        let index = Index::open(&target).unwrap();
        let mut session = Session::new(&index, defaults(), Devices::default(), true, false);
        let mut out = Vec::new();
        session.serve(&mut Lines(lines.as_bytes()), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), session.settings)
    }

    #[test]
    fn test_every_option_can_be_set_and_shown() {
        let command = Settings::augment_args(clap::Command::new("query"));
        let options: Vec<String> = command.get_arguments().map(|arg| arg.get_id().as_str().replace('_', "-")).collect();
        assert_eq!(options, SETTINGS.iter().map(|row| row.name).collect::<Vec<_>>());
        for row in SETTINGS {
            let mut settings = defaults();
            let shown = (row.show)(&settings);
            (row.put)(&mut settings, &shown).unwrap();
            assert_eq!(settings, defaults(), "{} reads what it shows", row.name);
        }
        let (shown, _) = session(":set\n");
        assert_eq!(shown.lines().count(), SETTINGS.len());
    }

    #[test]
    fn test_commands_change_what_is_answered() {
        let hits = |lines: &str| session(lines).0.lines().filter(|line| line.starts_with(' ')).count();
        assert_eq!(hits("all even\n"), 10);
        assert_eq!(hits(":set k 3\nall even\n"), 3);
        assert_eq!(hits(":set k 30\n:set mode and\neven all\n"), 10);
        assert_eq!(
            hits(":set k=30\n:set mode and\n:set intersect merge\neven all\n:set mode=or\nall"),
            30,
            "merge is not for or"
        );
        assert_eq!(hits(":set scores impacts\nall\n:set k1 2\nall\n"), 20, "impacts stay");
        assert_eq!(hits("all\n:quit\nall\n"), 10);
        let (out, settings) = session(":set --mode AND\n:explain on\n:set k\neven\n");
        assert_eq!((settings.mode, settings.explain), (Mode::And, true));
        assert!(out.starts_with("k 10\n") && out.contains("plan     all terms"), "{out}");
        let (_, settings) = session(":set gpu-memory 1GiB\n:set engine cpu\neven\n");
        assert_eq!((settings.gpu_memory, settings.is_auto()), (None, false), "for a GPU, and the CPU answers");
        let (_, settings) = session(":set mode and intersect gallop\n:set mode or k 3\n:set k 4 b\n");
        assert_eq!((settings.mode, settings.intersect.as_deref(), settings.k), (Mode::And, Some("gallop"), 10));
    }

    #[test]
    fn test_what_goes_wrong_does_not_end_the_prompt() {
        for wrong in [
            ":set k many",
            ":set k 0",
            ":set k -3",
            ":set mode xor",
            ":set colour red",
            ":sing",
            ":",
            ":set or bogo",
            ":set codec none",
            ":set preset ao",
            ":set engine cpu preset ao",
            ":set engine tpu",
            ":set migrate ratio",
            ":set engine griffin migrate bogo",
            ":set engine griffin device all",
            ":set engine griffin intersect ranges mode and",
            ":set b 7",
            ":set a b c",
            ":explain maybe",
            ":set explain 7",
        ] {
            let (out, settings) = session(&format!("{wrong}\neven\n"));
            assert_eq!(settings, defaults(), "{wrong}");
            assert!(out.contains("10 documents in "), "{wrong}: {out}");
        }
        assert!(session("\u{1b}[A\0\u{fffd} ?\neven").0.contains("10 documents in "));
    }

    #[test]
    fn test_lines_are_read_as_they_come() {
        // A line that is not UTF-8 is Latin-1, as in a file of topics.
        let mut lines = Lines(&b"a b\r\n\n\xe9 c"[..]);
        for expected in ["a b", "", "é c"] {
            assert!(matches!(lines.next().unwrap(), Input::Line(line) if line == expected), "{expected}");
        }
        assert!(matches!(lines.next().unwrap(), Input::End));
        assert!(Lines(io::BufReader::new(io::repeat(b'x'))).next().is_err(), "a line without an end");
    }
}
