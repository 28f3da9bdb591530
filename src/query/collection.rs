//! The statistics of a whole collection, by which an index of a part of it can rank.
//!
//! A shard that scores by its own number of documents, mean length and df gives other scores than an index of all
//! shards. With those of the whole, a document has the same score to the bit wherever it is.
//!
//! ```text
//! gamut-statistics ⇥ 2
//! documents ⇥ N
//! tokens ⇥ T
//! terms ⇥ M
//! TERM ⇥ DF            one line per term, in byte order
//! ```

use crate::base::text_file;
use crate::base::whole::WholeFile;
use crate::index::{Index, Statistics};
use crate::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufWriter, Write as _};
use std::path::Path;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first line of a file: what it is, and its version.
const FIRST: &str = "gamut-statistics\t2";

/// Numbers of documents and tokens, and the df of every term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Documents.
    pub documents: u64,
    /// Sum of their lengths in tokens.
    pub tokens: u64,
    dfs: HashMap<String, u64>,
}

impl Collection {
    /// The statistics of disjoint parts, added up.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let mut all = Self::default();
        for (i, path) in paths.iter().enumerate() {
            let same = |other: &P| {
                let [a, b] = [path, other].map(|path| path.as_ref().canonicalize().ok());
                a.is_some() && a == b
            };
            if paths[..i].iter().any(same) {
                let why = "is given twice, and its documents would count twice".to_owned();
                return Err(Error::Invalid { what: path.as_ref().display().to_string(), why });
            }
            let part = Self::read(path.as_ref())?;
            all.documents = all.documents.saturating_add(part.documents);
            all.tokens = all.tokens.saturating_add(part.tokens);
            for (term, df) in part.dfs {
                let sum = all.dfs.entry(term).or_default();
                *sum = sum.saturating_add(df);
            }
        }
        Ok(all)
    }

    /// A number that other statistics most likely do not have.
    pub fn digest(&self) -> u64 {
        let of_term = |(term, df): (&String, &u64)| xxh3_64_with_seed(term.as_bytes(), *df);
        let terms = self.dfs.iter().map(of_term).fold(self.dfs.len() as u64, u64::wrapping_add);
        xxh3_64(bytemuck::cast_slice(&[self.documents, self.tokens, terms]))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Invalid`] with the line that is none of such a file.
    pub fn read(path: &Path) -> Result<Self> {
        let file = text_file::open(File::open(path).map_err(Error::io("open", path))?);
        let file = file.map_err(|(_, error)| Error::io("read", path)(error))?;
        let mut lines = (1..).zip(file.text.lines());
        let bad = |line: u64, why: String| Error::Invalid { what: format!("{}, line {line}", path.display()), why };
        let mut next = || -> Result<Option<(u64, String)>> {
            let Some((number, line)) = lines.next() else { return Ok(None) };
            Ok(Some((number, line.map_err(Error::io("read", path))?)))
        };
        let mut head = |name: &str| -> Result<u64> {
            let (number, line) = next()?.unwrap_or_default();
            let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('\t')).and_then(|n| n.parse().ok());
            let why =
                || format!("is not \"{name}\", a tab and a number; `gamut stats DIR --terms FILE` writes such files");
            value.ok_or_else(|| bad(number.max(1), why()))
        };
        if head("gamut-statistics")? != 2 {
            return Err(bad(1, format!("is of another version than \"{FIRST}\"")));
        }
        let mut all = Self { documents: head("documents")?, tokens: head("tokens")?, dfs: HashMap::new() };
        let terms = head("terms")?;
        let mut last = 4;
        while let Some((number, line)) = next()? {
            last = number;
            let row = line.rsplit_once('\t').and_then(|(term, df)| Some((term, df.parse::<u64>().ok()?)));
            let Some((term, df)) = row.filter(|&(_, df)| df > 0 && df <= all.documents) else {
                let why = format!("is no term, a tab and a df from 1 to {}", all.documents);
                return Err(bad(number, why));
            };
            if all.dfs.insert(term.to_owned(), df).is_some() {
                return Err(bad(number, format!("has the term \"{term}\" again")));
            }
        }
        if all.dfs.len() as u64 != terms {
            return Err(bad(
                last,
                format!("is the last one, of {} terms; the file should have {terms}", all.dfs.len()),
            ));
        }
        Ok(all)
    }

    /// Writes the statistics of an index to a new file, which is there when it is whole.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::Io`]; [`Error::Damaged`]; [`Error::Invalid`] for a term with a line feed, which an
    /// analyzer of another program might make.
    pub fn write(index: &Index, path: &Path) -> Result<()> {
        let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(Error::Exists { path: path.to_owned() });
        }
        let file = WholeFile::create(path, 0o666).map_err(Error::io("create a file beside", path))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let s = living(index);
        let head = format!("{FIRST}\ndocuments\t{}\ntokens\t{}\nterms\t{}\n", s.documents, s.tokens, s.terms);
        out.write_all(head.as_bytes()).map_err(failed)?;
        let mut outcome = Ok(());
        index.each_term(|term, id| {
            outcome = index.term(id).and_then(|info| {
                if term.contains(&b'\n') {
                    let what = format!("the term {:?}", String::from_utf8_lossy(term));
                    return Err(Error::Invalid { what, why: "has a line feed".to_owned() });
                }
                match index.living_df(id, &info) {
                    0 => Ok(()),
                    df => out.write_all(term).and_then(|()| writeln!(out, "\t{df}")).map_err(failed),
                }
            });
            outcome.is_ok()
        })?;
        outcome?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.appear_new().map_err(failed)
    }

    /// The df of a term; 0 if no document has it.
    pub fn df(&self, term: &str) -> u64 {
        self.dfs.get(term).copied().unwrap_or(0)
    }

    /// Fails unless an index can be a part of the collection.
    pub(super) fn includes(&self, index: &Index) -> Result<()> {
        let s = living(index);
        if s.documents <= self.documents && s.tokens <= self.tokens {
            return Ok(());
        }
        let why = format!(
            "are of {} documents with {} tokens, but {} alone has {} with {}; they must be those of the whole collection",
            self.documents,
            self.tokens,
            index.dir().display(),
            s.documents,
            s.tokens
        );
        Err(Error::Invalid { what: "the statistics".to_owned(), why })
    }

    /// The df of a term that an index has in so many documents.
    pub(super) fn df_of(&self, term: &str, own: u32) -> Result<u64> {
        let df = self.df(term);
        if df >= u64::from(own) {
            return Ok(df);
        }
        let why = format!("say that {df} documents have \"{term}\", but in this index alone {own} have it");
        Err(Error::Invalid { what: "the statistics".to_owned(), why })
    }
}

/// Documents of an index that are not deleted, and their tokens. An imported index counts its own, not those of the
/// collection that its file is of.
fn living(index: &Index) -> Statistics {
    let (s, deleted) = (index.statistics(), index.deleted());
    let gone = deleted.map_or([0; 3], |deleted| [deleted.documents(), deleted.tokens(), deleted.terms_gone()]);
    let [documents, tokens, terms] = [s.documents, s.tokens, s.terms];
    Statistics {
        documents: documents.saturating_sub(gone[0]),
        tokens: tokens.saturating_sub(gone[1]),
        terms: terms.saturating_sub(gone[2]),
        ..s
    }
}
