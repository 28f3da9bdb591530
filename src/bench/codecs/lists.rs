//! The lists for measuring codecs, by class of length: a sample of an index's own, or synthetic ones.

use anyhow::ensure;
use rayon::prelude::*;

use crate::bench::mix;
use crate::index::read::lengths::{LENGTH_CLASSES, length_class};
use crate::index::{CodecRef, Index, Place};
use crate::postings::{Blocks, List};

use super::synthetic::Synthetic;

/// One list in [`Class::docs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Where it starts; a multiple of 4, as a GPU writes four docIDs at a time.
    pub(super) start: u32,
    /// DocIDs.
    pub(super) len: u32,
}

/// The sampled lists of one class of [`LENGTH_CLASSES`].
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// Its number.
    pub(super) number: usize,
    /// DocIDs of all lists, with zeros between them.
    pub(super) docs: Vec<u32>,
    pub(super) lists: Vec<Span>,
    /// Where each list comes from: its termID, or its number among synthetic ones.
    pub(super) sources: Vec<u32>,
}

impl Class {
    /// With room for lists of these lengths.
    pub(super) fn new(number: usize, sources: Vec<u32>, lens: impl Iterator<Item = u32>) -> Self {
        let mut start = 0;
        let lists = lens.map(|len| {
            let span = Span { start, len };
            start += len.next_multiple_of(4);
            span
        });
        let lists = lists.collect();
        Self { number, docs: vec![0; start as usize], lists, sources }
    }

    /// DocIDs of all lists.
    pub(super) fn postings(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.len)).sum()
    }

    /// The docIDs of a list.
    pub(super) fn list(&self, span: &Span) -> &[u32] {
        &self.docs[span.start as usize..][..span.len as usize]
    }
}

/// Calls `each` on all cores with the number of every list and its part of `out`, which is laid out like `lists`.
///
/// # Errors
/// Errors of `each`.
pub(super) fn fill(
    lists: &[Span],
    out: &mut [u32],
    each: impl Fn(usize, &mut [u32]) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let mut jobs = Vec::new();
    let (mut rest, mut first) = (out, 0);
    while first < lists.len() {
        let base = lists[first].start;
        let more = lists[first..].iter().take_while(|list| list.start - base < 1 << 16).count();
        let end = lists.get(first + more).map_or(rest.len(), |next| (next.start - base) as usize);
        let (part, tail) = std::mem::take(&mut rest).split_at_mut(end);
        jobs.push((first, more, part));
        (rest, first) = (tail, first + more);
    }
    jobs.into_par_iter().try_for_each(|(first, more, part)| {
        let base = lists[first].start;
        for (i, list) in lists.iter().enumerate().skip(first).take(more) {
            each(i, &mut part[(list.start - base) as usize..][..list.len as usize])?;
        }
        Ok(())
    })
}

/// What to measure on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// DocIDs in all, about.
    pub(super) postings: u64,
    /// Of the shortest list.
    pub(super) min_length: u32,
    /// Which sample, or which synthetic lists.
    pub(super) seed: u64,
}

/// Where lists come from.
pub(super) enum Source<'a> {
    /// An index, read through its most capable codec.
    Index(&'a Index, CodecRef<'a>),
    /// A recipe.
    Synthetic(Synthetic),
}

/// The result of a scan over the terms of an index, per class.
#[derive(Clone, Default)]
struct Found {
    postings: u64,
    /// TermIDs and lengths of the chosen lists.
    taken: Vec<(u32, u32)>,
}

impl Source<'_> {
    /// The classes that have lists, shortest first.
    ///
    /// # Errors
    /// The index is damaged, or has no list of sufficient length.
    pub(super) fn classes(&self, wanted: &Wanted) -> anyhow::Result<Vec<Class>> {
        let classes = match self {
            Self::Index(index, codec) => sample(index, *codec, wanted)?,
            Self::Synthetic(recipe) => recipe.classes(wanted)?,
        };
        let at_least = wanted.min_length;
        ensure!(!classes.is_empty(), "there is no list of {at_least} or more docIDs; give a smaller --min-length");
        Ok(classes)
    }

    /// The term frequencies of the lists of a class, laid out like its docIDs.
    ///
    /// # Errors
    /// The index is damaged.
    pub(super) fn frequencies(&self, class: &Class) -> anyhow::Result<Vec<u32>> {
        let mut out = vec![0; class.docs.len()];
        fill(&class.lists, &mut out, |i, out| match self {
            Self::Index(index, codec) => read_frequencies(index, *codec, class.sources[i], out),
            Self::Synthetic(recipe) => {
                recipe.frequencies(class.sources[i], out);
                Ok(())
            }
        })?;
        Ok(out)
    }
}

/// Scans the terms of `index` on all cores and returns the findings per class; a list is taken if its termID's hash is
/// below the class's `share` of all hashes.
fn scan(index: &Index, wanted: &Wanted, shares: &[f64]) -> anyhow::Result<Vec<Found>> {
    const CHUNK: u64 = 1 << 14;
    let terms = index.statistics().terms;
    let starts: Vec<u64> = (0..terms).step_by(CHUNK as usize).collect();
    let chunks = starts.into_par_iter().map(|start| {
        let mut found = vec![Found::default(); LENGTH_CLASSES.len()];
        for id in start..terms.min(start + CHUNK) {
            let info = index.term(id as u32)?;
            if info.df < wanted.min_length || !matches!(info.place, Place::List { .. }) {
                continue;
            }
            let class = length_class(info.df);
            found[class].postings += u64::from(info.df);
            let hash = mix(id ^ mix(wanted.seed)) as f64 / u64::MAX as f64;
            if hash <= shares[class] {
                found[class].taken.push((id as u32, info.df));
            }
        }
        Ok::<_, crate::Error>(found)
    });
    let mut all = vec![Found::default(); LENGTH_CLASSES.len()];
    for chunk in chunks.collect::<crate::Result<Vec<_>>>()? {
        for (all, found) in all.iter_mut().zip(chunk) {
            all.postings += found.postings;
            all.taken.extend(found.taken);
        }
    }
    Ok(all)
}

/// Lists of `index`: all of them, or a sample that keeps the classes' shares of the postings, with at least one list a
/// class.
fn sample(index: &Index, codec: CodecRef<'_>, wanted: &Wanted) -> anyhow::Result<Vec<Class>> {
    let counted = scan(index, wanted, &[-1.0; LENGTH_CLASSES.len()])?;
    let all: u64 = counted.iter().map(|found| found.postings).sum();
    let share = wanted.postings as f64 / all.max(1) as f64;
    let mut taken = scan(index, wanted, &[share; LENGTH_CLASSES.len()])?;
    let missed: Vec<_> = counted.iter().zip(&taken).map(|(all, t)| all.postings > 0 && t.taken.is_empty()).collect();
    if missed.contains(&true) {
        // A class of few lists, none of them drawn: take its first list.
        let shares: Vec<_> = missed.iter().map(|&missed| if missed { 1.0 } else { -1.0 }).collect();
        for (taken, found) in taken.iter_mut().zip(scan(index, wanted, &shares)?) {
            taken.taken.extend(found.taken.first());
        }
    }
    let classes = taken.iter().enumerate().filter(|(_, found)| !found.taken.is_empty()).map(|(number, found)| {
        // Chance may draw only the longest lists of a class; twice its share is enough then.
        let (mut sum, limit) = (0, 2 * (found.postings as f64 * share.min(1.0)) as u64);
        let within = |&&(_, len): &&(u32, u32)| {
            sum += u64::from(len);
            sum == u64::from(len) || sum <= limit
        };
        let lists: Vec<_> = found.taken.iter().take_while(within).collect();
        let ids = lists.iter().map(|list| list.0).collect();
        let mut class = Class::new(number, ids, lists.iter().map(|list| list.1));
        let (spans, sources) = (&class.lists, &class.sources);
        fill(spans, &mut class.docs, |i, out| read_docs(index, codec, sources[i], out))?;
        Ok(class)
    });
    classes.collect()
}

/// The docIDs of a term that has a list; `out` has as many.
///
/// # Errors
/// The index is damaged.
pub(in crate::bench) fn read_docs(
    index: &Index,
    codec: CodecRef<'_>,
    term: u32,
    out: &mut [u32],
) -> anyhow::Result<()> {
    let List::Blocks(list) = index.list(&index.term(term)?, codec)? else { return Ok(()) };
    for (i, block) in out.chunks_mut(codec.codec().block_len()).enumerate() {
        list.decode_into(i, block)?;
    }
    Ok(())
}

fn read_frequencies(index: &Index, codec: CodecRef<'_>, term: u32, out: &mut [u32]) -> anyhow::Result<()> {
    Ok(Blocks::new(index.list(&index.term(term)?, codec)?).copy_tfs(0, out)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Oracle, Plan, build};

    #[test]
    fn test_fill_reaches_every_list_once() {
        let lens = [3u32, 70_000, 1, 2, 8, 65_536, 5];
        let class = Class::new(0, Vec::new(), lens.into_iter());
        let mut out = vec![0; class.docs.len()];
        fill(&class.lists, &mut out, |i, part| {
            part.iter_mut().for_each(|slot| *slot += i as u32 + 1);
            Ok(())
        })
        .unwrap();
        for (i, list) in class.lists.iter().enumerate() {
            let (start, len) = (list.start as usize, list.len as usize);
            assert!(list.start % 4 == 0 && list.len == lens[i]);
            assert!(out[start..start + len].iter().all(|&value| value == i as u32 + 1));
            assert!(out[start + len..].iter().take(len.next_multiple_of(4) - len).all(|&value| value == 0));
        }
        let fails_once = |i: usize, _: &mut [u32]| if i == 5 { Err(anyhow::anyhow!("five")) } else { Ok(()) };
        assert!(fill(&class.lists, &mut out, fails_once).is_err());
    }

    #[test]
    fn test_samples_hold_lists_of_the_index() {
        let texts: Vec<String> = (1..=300usize)
            .map(|doc| (1..=290).filter(|i| doc % i == 0).map(|i| format!("t{i} ").repeat(1 + doc % 3)).collect())
            .collect();
        let oracle = Oracle::new(texts.iter().map(String::as_str));
        let texts: Vec<_> = texts.iter().map(|text| ("", "", "", text.as_str())).collect();
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &texts, &Plan::default()).unwrap();
        let index = Index::open(&target).unwrap();
        let source = Source::Index(&index, index.codec(None).unwrap());
        let known: std::collections::BTreeSet<_> = oracle.lists.values().cloned().collect();
        for (postings, min_length) in [(u64::MAX, 2), (400, 2), (1, 2), (u64::MAX, 40)] {
            let classes = source.classes(&Wanted { postings, min_length, seed: 7 }).unwrap();
            for class in &classes {
                let tfs = source.frequencies(class).unwrap();
                for list in &class.lists {
                    assert!(list.len >= min_length && length_class(list.len) == class.number);
                    let tfs = &tfs[list.start as usize..];
                    let pairs: Vec<_> = class.list(list).iter().copied().zip(tfs.iter().copied()).collect();
                    assert!(known.contains(&pairs));
                }
            }
            let found: u64 = classes.iter().map(Class::postings).sum();
            let long: Vec<_> =
                oracle.lists.values().map(Vec::len).filter(|&n| n >= min_length.max(2) as usize).collect();
            match postings {
                u64::MAX => assert_eq!(found, long.iter().sum::<usize>() as u64),
                // one list of each class, whatever was asked for
                1 => assert_eq!(classes.iter().map(|class| class.lists.len()).collect::<Vec<_>>(), [1; 4]),
                _ => assert!((100..1000).contains(&found), "{found}"),
            }
        }
        assert!(source.classes(&Wanted { postings: 1, min_length: 301, seed: 7 }).is_err());
    }
}
