//! The assembler of shaders: it joins a text and the texts that it needs into the source of one kernel.
//!
//! A text is plain WGSL with lines that begin with `//#`:
//!
//! | line | what the assembler does |
//! |---|---|
//! | `//#import and/halves` | puts the file `shaders/and/halves.wgsl` before this text, once a kernel |
//! | `//#import codec/array DEPTH=1` | the same for a file with parameters: `#DEPTH` in it becomes `1` |
//! | `//#import scores` | a name without a slash: puts in what Rust [chose](Assembler::provide) for it |
//! | `//#slot entry` | puts in the text of [Rust](Assembler::fill) or of an import for this place |
//! | `//#fill entry` to `//#end` | a text for such a place |
//! | `//#for ITEMS` to `//#end` | repeats the lines for 0, 1, … below a constant; `@` is the number |
//!
//! Three things are never written by hand. Constants of Rust are declared where a text uses their names. Each
//! `var<storage>` gets the next binding. Workgroup memory is counted. An incomplete text is a [`GpuError::Shader`]. The
//! kernel lists what was given and whether it was used, for a test.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::kernel::{Access, Binding, Kernel};
use super::library::LIBRARY;
use super::{GpuError, Layout, workgroup};

/// A text from the folder of shaders.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its path there, without the ending.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// The [`Text`] of a path below `shaders`, without the ending.
macro_rules! wgsl {
    ($name:literal) => {
        $crate::gpu::shader::Text {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl")),
        }
    };
}
pub(crate) use wgsl;

/// What stands for a name without a slash.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A file, with the values of its parameters.
    File(Text, Vec<(&'static str, u32)>),
    /// A text that Rust has printed.
    Printed(String),
}

impl From<Text> for Piece {
    fn from(text: Text) -> Self {
        Self::File(text, Vec::new())
    }
}

/// The material that texts are put together from. A clone may get more than the original.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    constants: BTreeMap<Cow<'static, str>, u32>,
    provided: BTreeMap<&'static str, Vec<Piece>>,
    fills: BTreeMap<&'static str, String>,
    immediate_bytes: u32,
}

impl Assembler {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Texts may use these numbers by name.
    pub fn constants(mut self, values: &[(&'static str, u32)]) -> Self {
        self.constants.extend(values.iter().map(|&(name, value)| (Cow::Borrowed(name), value)));
        self
    }

    /// `//#import name` stands for these pieces.
    pub fn provide(mut self, name: &'static str, pieces: impl IntoIterator<Item = impl Into<Piece>>) -> Self {
        self.provided.insert(name, pieces.into_iter().map(Into::into).collect());
        self
    }

    /// `//#import buffer` stands for a buffer with rows of `T`, and what reads them.
    pub fn rows<T: Layout>(self, buffer: &'static str) -> Self {
        self.provide(buffer, [T::rows(buffer)])
    }

    /// `//#import params` stands for the parameters of a dispatch.
    pub fn params<T: Layout>(self) -> Self {
        Self { immediate_bytes: size_of::<T>() as u32, ..self.provide("params", [T::parameters()]) }
    }

    /// `//#slot name` stands for this text.
    pub fn fill(mut self, name: &'static str, text: String) -> Self {
        self.fills.insert(name, text);
        self
    }

    /// Adds everything of `other` but its parameters.
    pub fn with(mut self, other: &Self) -> Self {
        let Self { constants, provided, fills, .. } = other.clone();
        self.constants.extend(constants);
        self.provided.extend(provided);
        self.fills.extend(fills);
        self
    }

    /// The kernel whose entry point is in `text`.
    ///
    /// # Errors
    /// [`GpuError::Shader`] if the text, or one that it needs, is incomplete.
    pub fn kernel(&self, name: &'static str, text: Text) -> Result<Kernel, GpuError> {
        let fault = |message| GpuError::Shader { kernel: name, message };
        let mut sheet = Sheet {
            given: self,
            used: BTreeSet::new(),
            done: BTreeSet::new(),
            fills: BTreeMap::new(),
            text: String::new(),
        };
        sheet.import(text.name, &[], text.text).map_err(fault)?;
        sheet.fill_slots().map_err(fault)?;
        let bindings = sheet.number_bindings().map_err(fault)?;
        let given = sheet.declare_constants();
        let Sheet { text: source, .. } = sheet;
        let workgroup_bytes = workgroup::bytes(&source).map_err(fault)?;
        Ok(Kernel { name, source, bindings, immediate_bytes: self.immediate_bytes, workgroup_bytes, given })
    }
}

/// The source of a kernel while it is put together.
struct Sheet<'a> {
    given: &'a Assembler,
    /// Names of constants, pieces and slots that were asked for.
    used: BTreeSet<String>,
    /// Texts already put in, with their parameters.
    done: BTreeSet<String>,
    /// Texts for slots.
    fills: BTreeMap<String, String>,
    text: String,
}

/// A line of a text for the assembler.
enum Line<'t> {
    Import(&'t str, Vec<&'t str>),
    Slot(&'t str),
    Fill(&'t str),
    For(&'t str),
    End,
}

fn line_of<'t>(place: &str, line: &'t str) -> Result<Option<Line<'t>>, String> {
    let Some(words) = line.trim().strip_prefix("//#") else { return Ok(None) };
    let words: Vec<&str> = words.split_whitespace().collect();
    Ok(Some(match words[..] {
        ["import", name, ref parameters @ ..] => Line::Import(name, parameters.to_vec()),
        ["slot", name] => Line::Slot(name),
        ["fill", name] => Line::Fill(name),
        ["for", count] => Line::For(count),
        ["end"] => Line::End,
        _ => return Err(format!("{place}: \"{}\" is no line for the assembler", line.trim())),
    }))
}

/// The words of a text outside comments.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter_map(|line| line.split("//").next());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

/// A text with its parameters put in.
fn with_parameters(place: &str, text: &str, parameters: &[(&str, u32)]) -> Result<String, String> {
    let text = parameters
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("#{name}"), &value.to_string()));
    let missing = text.match_indices('#').find(|&(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_uppercase()));
    match missing {
        Some((at, _)) => Err(format!("{place}: nobody gives {}", text[at..].split_whitespace().next().unwrap_or("#"))),
        None => Ok(text),
    }
}

impl Sheet<'_> {
    /// Puts a text here, behind those that it needs.
    fn import(&mut self, place: &str, parameters: &[(&str, u32)], text: &str) -> Result<(), String> {
        if !self.done.insert(format!("{place} {parameters:?}")) {
            return Ok(());
        }
        let text = with_parameters(place, text, parameters)?;
        for line in text.lines() {
            if let Some(Line::Import(name, parameters)) = line_of(place, line)? {
                self.import_by_name(place, name, &parameters)?;
            }
        }
        self.put(place, &text)
    }

    fn import_by_name(&mut self, place: &str, name: &str, parameters: &[&str]) -> Result<(), String> {
        let read = |text: &&str| -> Option<(String, u32)> {
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        if let Some(file) = LIBRARY.iter().find(|text| text.name == name) {
            let parameters: Option<Vec<_>> = parameters.iter().map(read).collect();
            let Some(parameters) = parameters else {
                return Err(format!("{place}: parameters of {name} are no numbers"));
            };
            let parameters: Vec<(&str, u32)> = parameters.iter().map(|(name, value)| (&**name, *value)).collect();
            return self.import(file.name, &parameters, file.text);
        }
        let given = self.given;
        let Some(pieces) = given.provided.get(name) else { return Err(format!("{place}: nobody provides \"{name}\"")) };
        self.used.insert(name.to_owned());
        for (number, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::File(file, parameters) => self.import(file.name, parameters, file.text)?,
                Piece::Printed(text) => self.import(&format!("{name} {number}"), &[], text)?,
            }
        }
        Ok(())
    }

    /// Writes the lines of a text, except those for the assembler. Slots stay.
    fn put(&mut self, place: &str, text: &str) -> Result<(), String> {
        let mut inner: Option<(Line<'_>, String)> = None;
        for line in text.lines() {
            let inside = inner.is_some();
            match (line_of(place, line)?, inner.as_mut()) {
                (Some(Line::Import(..)), None) => {}
                (Some(opens @ (Line::For(_) | Line::Fill(_))), None) => inner = Some((opens, String::new())),
                (Some(Line::End), Some(_)) => match inner.take() {
                    Some((Line::For(count), lines)) => self.repeat(place, count, &lines)?,
                    Some((Line::Fill(name), lines)) => {
                        self.fills.insert(name.to_owned(), lines);
                    }
                    _ => {}
                },
                (Some(Line::Slot(_)) | None, Some((_, lines))) => {
                    lines.push_str(line);
                    lines.push('\n');
                }
                (Some(Line::Slot(_)) | None, None) => {
                    self.text.push_str(line);
                    self.text.push('\n');
                }
                _ => {
                    return Err(format!(
                        "{place}: \"{}\" may not stand {}",
                        line.trim(),
                        if inside { "in a block" } else { "here" }
                    ));
                }
            }
        }
        match inner {
            Some(_) => Err(format!("{place}: //#end is missing")),
            None => Ok(()),
        }
    }

    /// Repeats lines, so that values that a loop would index stay in registers.
    fn repeat(&mut self, place: &str, count: &str, lines: &str) -> Result<(), String> {
        let number = match (count.parse(), self.given.constants.get(count)) {
            (Ok(number), _) => number,
            (_, Some(&number)) => {
                self.used.insert(count.to_owned());
                number
            }
            _ => return Err(format!("{place}: nobody gives {count}")),
        };
        (0..number).for_each(|i: u32| self.text.push_str(&lines.replace('@', &i.to_string())));
        Ok(())
    }

    fn fill_slots(&mut self) -> Result<(), String> {
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            match line_of("the kernel", line)? {
                Some(Line::Slot(name)) => {
                    self.used.insert(name.to_owned());
                    let own = self.given.fills.get(name);
                    let fill = own
                        .or_else(|| self.fills.get(name))
                        .ok_or_else(|| format!("nobody fills the slot \"{name}\""))?;
                    text.push_str(fill);
                }
                _ => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        self.text = text;
        Ok(())
    }

    /// Gives every buffer its number.
    fn number_bindings(&mut self) -> Result<Vec<Binding>, String> {
        let mut bindings = Vec::new();
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            if let Some(rest) = line.strip_prefix("var<storage, ") {
                let (access, rest) = rest.split_once("> ").ok_or_else(|| format!("no buffer: \"{line}\""))?;
                let (name, kind) = rest.split_once(": ").ok_or_else(|| format!("no buffer: \"{line}\""))?;
                let count = match kind.strip_prefix("binding_array<").and_then(|kind| kind.rsplit_once(", ")) {
                    None => None,
                    Some((_, count)) => {
                        let count = count.trim_end_matches(">;").parse();
                        Some(count.map_err(|_| format!("how many buffers are in \"{line}\"?"))?)
                    }
                };
                let access = if access == "read" { Access::Read } else { Access::ReadWrite };
                // writing to a String cannot fail
                let _ = write!(text, "@group(0) @binding({}) ", bindings.len());
                bindings.push(Binding { name: name.to_owned(), access, count });
            }
            text.push_str(line);
            text.push('\n');
        }
        if bindings.iter().any(|binding| binding.count.is_some()) {
            text.insert_str(0, "enable wgpu_binding_array;\n");
        }
        self.text = text;
        Ok(bindings)
    }

    /// Declares the constants that the text uses; returns what was given, and whether it was used.
    fn declare_constants(&mut self) -> Vec<(String, bool)> {
        let given = self.given;
        let in_text: BTreeSet<&str> = names(&self.text).collect();
        let mut head = String::new();
        for (name, value) in given.constants.iter().filter(|(name, _)| in_text.contains(&***name)) {
            // writing to a String cannot fail
            let _ = writeln!(head, "const {name}: u32 = {value}u;");
        }
        let constants = given.constants.keys().map(|name| &**name);
        let pieces = given.provided.keys().chain(given.fills.keys()).copied();
        let used =
            |name: &str| in_text.contains(name) && given.constants.contains_key(name) || self.used.contains(name);
        let all = constants.chain(pieces).map(|name| (name.to_owned(), used(name))).collect();
        // behind the line that enables arrays of buffers
        let at = if self.text.starts_with("enable ") { self.text.find('\n').map_or(0, |end| end + 1) } else { 0 };
        self.text.insert_str(at, &head);
        all
    }
}
