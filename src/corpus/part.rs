//! A part of a corpus: what one of several machines reads.
//!
//! Parts are cut by bytes on disk, all files of the input one behind the other: a record belongs to the part in which
//! it begins. A file is cut at the first place from there on at which a record seems to begin, as between pieces. The
//! parts on both sides find that place from the bytes behind the cut alone. It is a guess, since a record may hold a
//! whole archive; but the part before reads up to the cut, so it sees a wrong one: see [`super::Handover::finish`].

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::CorpusOptions;
use super::format::Cut;
use super::members::Compression;
use super::open::PlannedFile;
use super::walk::Walker;
use crate::base::map::Map;
use crate::{Error, Result};

/// How far behind its middle a compressed file is searched for a record that begins a member, in bytes on disk.
const SEARCH: usize = 16 << 20;

/// A part of the input, such as the second of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: u32,
    of: u32,
}

impl Part {
    /// All of the input.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Parts that a whole may have: as many as a crawl of Common Crawl has files.
    pub const MOST: u32 = 100_000;

    /// Part `number` of `of`, from 1.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such part, or if there are more than [`Self::MOST`].
    pub fn new(number: u32, of: u32) -> Result<Self> {
        if of > Self::MOST {
            let why = format!("is of more than {} parts", Self::MOST);
            return Err(Error::Invalid { what: format!("part {number}/{of}"), why });
        }
        if (1..=of).contains(&number) {
            return Ok(Self { number, of });
        }
        let why = format!("is none of the parts 1/{of} to {of}/{of}", of = of.max(1));
        Err(Error::Invalid { what: format!("part {number}/{of}"), why })
    }

    /// True if it is all of the input.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Whether a file is looked into of which this part has such a range: nobody looks into files of other parts.
    pub(super) fn opens(self, range: &Range<u64>) -> bool {
        self.is_whole() || !range.is_empty()
    }

    /// The bytes of each file, of these sizes, that are of this part. Those of all parts cover every file once.
    pub(super) fn ranges(self, sizes: &[u64]) -> Vec<Range<u64>> {
        let total: u64 = sizes.iter().sum();
        let cut = |number: u32| (u128::from(total) * u128::from(number) / u128::from(self.of)) as u64;
        let (from, to) = (cut(self.number - 1), cut(self.number));
        let mut start = 0;
        let mut range = |size: u64| {
            let [a, b] = [from, to].map(|at| at.saturating_sub(start).min(size));
            start += size;
            a..b
        };
        sizes.iter().map(|&size| range(size)).collect()
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let Some((number, of)) = numbers else {
            let why = "is not of the form i/n, such as 3/8 for the third of eight".to_owned();
            return Err(Error::Invalid { what: format!("part \"{text}\""), why });
        };
        Self::new(number, of)
    }
}

/// The file with the extent that `range` of its bytes stands for; `None` if nothing begins there. A file that cannot be
/// cut lies where its first byte does.
pub(super) fn cut(mut file: PlannedFile, range: Range<u64>, options: &CorpusOptions) -> Result<Option<PlannedFile>> {
    if range.is_empty() || range == (0..file.info.bytes) {
        return Ok((!range.is_empty()).then_some(file));
    }
    let path = &file.info.path;
    let map = Map::open(path).map_err(Error::io("map", path))?;
    let source = file.source(&map, options);
    let mut walker = Walker::new();
    let middle = map.len() / 2;
    let cuts = file.may_be_cut()
        && (file.compression == Compression::None || walker.find_start(&source, middle, middle + SEARCH).is_some());
    if !cuts {
        return Ok((range.start == 0).then_some(file));
    }
    let [from, to] = [range.start, range.end].map(|at| at as usize);
    let Some(first) = walker.find_start(&source, from, to) else { return Ok(None) };
    let end = if to < map.len() { walker.find_start(&source, to, map.len()) } else { None };
    file.cut_to(first, end, options);
    Ok(Some(file))
}

impl PlannedFile {
    /// True if records may be found in its middle, as far as its format and coding tell.
    pub(super) fn may_be_cut(&self) -> bool {
        self.utf16.is_none()
            && match self.format.cut() {
                Cut::Records => true,
                Cut::Lines => self.compression == Compression::None,
                Cut::Sequential | Cut::File => false,
            }
    }
}
