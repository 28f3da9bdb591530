//! Lists of a union that other processes encode: which, and where a merge finds them.
//!
//! TermIDs are cut into shares. Every process walks all dictionaries, so all find the same cuts. The first share is
//! what the merge itself is to encode; it also writes the dictionary, names and all files, so its share is smaller.

use crate::base::means::Means;
use crate::{Error, Result};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// No union is cut into more shares.
const MOST: u32 = 1 << 16;

/// What it costs to find a list of an input, and a posting that has none, in postings of a long list. All costs are
/// those of `gamut merge` with one codec, on one core of an EPYC.
const LIST: u64 = 70;
const SINGLE: u64 = 20;
/// What the first share has beside lists: for each document its names, for each term its place in the dictionary, and
/// for each posting of the union its words, an eighth of one, written and hashed.
const NAMES: u64 = 40;
const DICTIONARY: u64 = 25;
const WRITTEN: u64 = 8;

/// Between two looks for a file.
const LOOK: Duration = Duration::from_millis(10);
/// A merge waits for a file at least so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// A share of the lists of a union, such as the second of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    number: u32,
    of: u32,
}

impl Share {
    /// Share `number` of `of`, from 1.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such share, or if there would be more than 65,536.
    pub fn new(number: u32, of: u32) -> Result<Self> {
        if (1..=of.min(MOST)).contains(&number) && of <= MOST {
            return Ok(Self { number, of });
        }
        let why =
            format!("is none of the shares 1/{of} to {of}/{of}; there are at most {MOST}", of = of.clamp(1, MOST));
        Err(Error::Invalid { what: format!("share {number}/{of}"), why })
    }

    /// Which one it is, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many shares there are.
    pub fn of(self) -> u32 {
        self.of
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Share {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let Some((number, of)) = numbers else {
            let why = "is not of the form i/n, such as 2/3 for the second of three".to_owned();
            return Err(Error::Invalid { what: format!("share \"{text}\""), why });
        };
        Self::new(number, of)
    }
}

/// The file of a share, when somebody asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is here.
    File(PathBuf),
    /// It may come.
    NotYet,
    /// It does not come: the merge encodes these lists itself.
    Never,
}

/// Where a merge finds the lists that other processes encode.
#[derive(Clone, Copy)]
pub struct Shares<'a> {
    /// How many there are.
    pub of: u32,
    /// The file of a share, from 1. It is asked again for one that is not there yet.
    pub found: &'a (dyn Fn(u32) -> Result<Found> + Sync),
}

impl Shares<'_> {
    /// The file of a share. A merge waits as long as it has taken so far, `began` being its beginning: then the other
    /// process is late by as much work, and does not catch up.
    pub(super) fn wait(&self, number: u32, began: Instant, means: &Means) -> Result<Option<PathBuf>> {
        let asked = Instant::now();
        let patience = began.elapsed().max(PATIENCE);
        loop {
            match (self.found)(number)? {
                Found::File(path) => return Ok(Some(path)),
                Found::NotYet if asked.elapsed() < patience => std::thread::sleep(LOOK),
                Found::NotYet | Found::Never => return Ok(None),
            }
            means.go_on()?;
        }
    }
}

/// Some consecutive terms whose lists a thread encodes at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// TermIDs.
    pub terms: Range<u32>,
    /// Postings, those of documents that go included.
    pub postings: u64,
    /// What they cost.
    pub cost: u64,
}

/// What a list of the union costs, of so many inputs.
pub(super) fn cost(df: u64, inputs: u64) -> u64 {
    df + if df > inputs { LIST * inputs } else { SINGLE * df }
}

/// Which tasks each share has.
pub(super) fn cut(tasks: &[Task], documents: u64, of: u32) -> Vec<Range<usize>> {
    let sum = |of: fn(&Task) -> u64| tasks.iter().map(of).sum::<u64>();
    let lists = sum(|task| task.cost);
    let terms = sum(|task| u64::from(task.terms.end - task.terms.start));
    let postings = sum(|task| task.postings);
    let others = NAMES * documents + DICTIONARY * terms + postings / WRITTEN;
    let of = u64::from(of.max(1));
    // What the first share has of the lists, and each other one.
    let first = ((lists + others) / of).saturating_sub(others);
    let each = if of == 1 { 0 } else { (lists - first) / (of - 1) };
    let mut cuts = vec![0];
    let (mut at, mut before) = (0, 0);
    for share in 0..of - 1 {
        let end = first + share * each;
        while at < tasks.len() && before + tasks[at].cost / 2 < end {
            before += tasks[at].cost;
            at += 1;
        }
        cuts.push(at);
    }
    cuts.push(tasks.len());
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_shares_are_read_and_refused() {
        assert_eq!("2/3".parse::<Share>().unwrap(), Share::new(2, 3).unwrap());
        for bad in ["", "2", "0/3", "4/3", "1/0", "-1/2", "1/65537", "a/b"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
    }

    #[test]
    fn test_every_task_is_in_one_share() {
        for count in [0, 1, 2, 3, 40, 500u32] {
            let tasks: Vec<Task> = (0..count)
                .map(|i| Task { terms: 100 * i..100 * (i + 1), postings: 1 << (18 - i.min(16)), cost: 900 })
                .collect();
            for of in [1, 2, 3, 7, 600] {
                let shares = cut(&tasks, 1000, of);
                assert_eq!(shares.len(), of as usize);
                assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, tasks.len()));
                assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            }
        }
    }

    #[test]
    fn test_the_first_share_has_fewer_lists_and_others_have_as_many() {
        let task = |i: u32| Task { terms: 10 * i..10 * (i + 1), postings: 1 << 18, cost: 1 << 18 };
        let tasks: Vec<Task> = (0..1000).map(task).collect();
        for of in [2, 4] {
            let sizes: Vec<usize> = cut(&tasks, 500_000, of).iter().map(ExactSizeIterator::len).collect();
            assert!(sizes[0] < sizes[1], "{sizes:?}");
            assert!(sizes[1..].iter().all(|&size| size.abs_diff(sizes[1]) <= 1), "{sizes:?}");
        }
    }
}
