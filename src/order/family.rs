//! What a row of the registry of orders says, and an order with its parameters.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use super::{FAMILIES, Permutation, names};
use crate::base::means::Means;
use crate::base::params::{Domain, Param, Settings};
use crate::{Error, Result};

/// An order before its parameters are chosen: one row of [`FAMILIES`].
pub struct Family {
    /// What `--order` takes.
    pub name: &'static str,
    /// One line: what decides the docIDs.
    pub about: &'static str,
    /// Where it is described, if anywhere.
    pub paper: Option<&'static str>,
    /// Its parameters. The command line takes a sole parameter without its name: `random:7`.
    pub params: &'static [Param],
    /// What an index must contain to get this order.
    pub needs: Needs,
    /// Checks, before any work, whether the order can be made.
    pub check: fn(&Settings) -> Result<()>,
    /// The permutation of some documents, with parameters that hold a valid value for each of `params`.
    pub make: fn(&Settings, &dyn Documents, &Means) -> Result<Permutation>,
}

/// What an order needs of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Documents.
    Nothing,
    /// Their URLs.
    Urls,
    /// Ranks by their links.
    Links,
}

/// What an order may know of its documents.
pub trait Documents: Sync {
    /// How many there are.
    fn count(&self) -> u32;

    /// Their present order, as an [`Order`] is written.
    fn order(&self) -> &str;

    /// The place in the input of each document, if they are in another order and it is known.
    fn input_places(&self) -> Option<&[u32]>;

    /// Hands on the URL of each document in turn; where there is none its id, which may be one.
    ///
    /// # Errors
    /// They cannot be read; [`Error::Interrupted`].
    fn each_url(&self, means: &Means, visit: &mut dyn FnMut(&str)) -> Result<()>;

    /// The rank of each document by its links, if it is known.
    fn ranks(&self) -> Option<&[f32]>;

    /// The lists with a df in this range: each list's number for [`Self::read`], and its df. A term of one document has
    /// no list.
    ///
    /// # Errors
    /// They cannot be read.
    fn lists(&self, documents: RangeInclusive<u32>) -> Result<Vec<(u32, u32)>>;

    /// Appends the docIDs of a list.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, list: u32, out: &mut Vec<u32>) -> Result<()>;
}

impl Family {
    /// How the command line writes it: its name, its name and parameter, or both.
    pub fn spellings(&self) -> Vec<String> {
        let with = |param: &Param| format!("{}:{}", self.name, param.name.to_uppercase().replace('-', "_"));
        let plain = self.params.iter().all(|param| !param.default.is_empty()).then(|| self.name.to_owned());
        plain.into_iter().chain(self.params.iter().map(with)).collect()
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What decides the docIDs.
#[derive(Clone, Debug)]
pub struct Order {
    family: &'static Family,
    settings: Settings,
}

impl Order {
    /// The order in which documents come in.
    pub fn input() -> Self {
        Self { family: &super::input::INPUT, settings: Settings::NONE }
    }

    /// True for the order in which documents come in.
    pub fn is_input(&self) -> bool {
        std::ptr::eq(self.family, &super::input::INPUT)
    }

    /// What it needs of an index.
    pub fn needs(&self) -> Needs {
        self.family.needs
    }

    /// The file that it reads, if it reads one.
    pub fn file(&self) -> Option<&Path> {
        let path = self.family.params.iter().find(|param| matches!(param.domain, Domain::Path))?;
        Some(Path::new(self.settings.text(path.name)))
    }

    /// Checks, before any work, whether the order can be made.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Invalid`] for a file that cannot be read.
    pub fn check(&self) -> Result<()> {
        (self.family.check)(&self.settings)
    }

    /// The permutation that it means for some documents.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the documents lack what it needs, [`Error::Memory`], [`Error::Interrupted`], and those of
    /// [`Permutation::read`].
    pub fn permutation(&self, documents: &dyn Documents, means: &Means) -> Result<Permutation> {
        (self.family.make)(&self.settings, documents, means)
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let unknown = || Error::UnknownName { kind: "order", name: text.to_owned(), choices: names() };
        let family = FAMILIES.iter().find(|family| family.name == name).ok_or_else(unknown)?;
        let spelled = family.spellings().join(" or ");
        let settings = Settings::read_short(family.params, settings, &format!("order {name} ({spelled})"))?;
        Ok(Self { family, settings })
    }
}

/// As the manifest records it: without a file's path, which would be another file on another machine.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name)?;
        let settings = self.settings.short();
        if settings.is_empty() { Ok(()) } else { write!(f, ":{settings}") }
    }
}

/// The error for documents that lack what an order needs.
pub(super) fn lacking(order: &str, why: &str) -> Error {
    Error::Invalid { what: format!("order \"{order}\""), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_orders_are_parsed_and_written() {
        for text in ["input", "url", "bp", "bp:3", "pagerank", "random:7", "random:18446744073709551615"] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        }
        for (text, written) in [("bp:2", "bp"), ("random:seed=7", "random:7"), ("file:a:b", "file")] {
            assert_eq!(text.parse::<Order>().unwrap().to_string(), written);
        }
        assert_eq!("file:a:b=c,d".parse::<Order>().unwrap().settings.text("path"), "a:b=c,d");
        assert!(Order::input().is_input() && "input".parse::<Order>().unwrap().is_input());
        for (text, expected) in [
            ("random", "random:SEED"),
            ("random:x", "seed is a number from 0"),
            ("bp:1", "min-df is a number from 2"),
            ("file:", "needs its path"),
            ("input:1", "no parameters"),
            ("size", &format!("there are: {}", names())),
        ] {
            let error = text.parse::<Order>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
