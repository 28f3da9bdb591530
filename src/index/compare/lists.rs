//! Terms and their postings, side by side in byte order.

use super::{Comparison, Difference, Differences, Part};
use crate::Result;
use crate::base::in_order::in_order;
use crate::base::means::{Stage, Unit};
use crate::index::{Impacts, Index, TermInfo};
use crate::postings::{Blocks, List};

/// Terms of each index that are read at a time.
const TERMS: usize = 1 << 16;

/// Postings of a task, unless one list has more.
const TASK: u64 = 1 << 18;

/// For progress.
const STAGE: Stage = Stage { name: "comparing", unit: Unit::Things("postings") };

/// Some terms of one index, in byte order.
#[derive(Default)]
struct Terms {
    terms: Vec<(Vec<u8>, u32)>,
    /// Whether there are more.
    more: bool,
}

impl Terms {
    fn read(index: &Index, from: &[u8]) -> Result<Self> {
        let mut out = Self::default();
        index.each_term_from(from, |term, id| {
            out.more = out.terms.len() == TERMS;
            if !out.more {
                out.terms.push((term.to_vec(), id));
            }
            !out.more
        })?;
        Ok(out)
    }

    /// The last term, if more follow.
    fn end(&self) -> Option<&[u8]> {
        self.terms.last().filter(|_| self.more).map(|(term, _)| &term[..])
    }
}

/// A term that both have.
struct Pair {
    term: Vec<u8>,
    infos: [TermInfo; 2],
}

pub(super) fn compare(indexes: [&Index; 2], comparison: &Comparison, found: &mut Vec<Differences>) -> Result<()> {
    let wanted = |part: Part| comparison.parts.contains(&part);
    if ![Part::Terms, Part::Lists, Part::Impacts].into_iter().any(wanted) {
        return Ok(());
    }
    let [mut terms, mut lists, mut impacts] = [Part::Terms, Part::Lists, Part::Impacts].map(Differences::new);
    comparison.means.progress.begin(STAGE, indexes[0].statistics().postings);
    let mut from = Vec::new();
    loop {
        let sides = [Terms::read(indexes[0], &from)?, Terms::read(indexes[1], &from)?];
        // What both have read up to.
        let end = sides.iter().filter_map(Terms::end).min().map(<[u8]>::to_vec);
        let within = |term: &[u8]| end.as_deref().is_none_or(|end| term <= end);
        let mut pairs = Vec::new();
        let mut both = sides.each_ref().map(|side| side.terms.iter().take_while(|(term, _)| within(term)).peekable());
        while let Some(term) = both.iter_mut().filter_map(|side| side.peek().map(|(term, _)| term)).min() {
            let ids = both.each_mut().map(|side| side.next_if(|(other, _)| other == term).map(|(_, id)| *id));
            match ids {
                [Some(first), Some(second)] => {
                    let infos = [indexes[0].term(first)?, indexes[1].term(second)?];
                    pairs.push(Pair { term: term.clone(), infos });
                }
                [first, _] => terms.add(comparison.keep, || {
                    let has = |there: bool| if there { "there" } else { "nothing" }.to_owned();
                    let [one, other] = [has(first.is_some()), has(first.is_none())];
                    Difference { at: shown(term), first: one, second: other }
                }),
            }
        }
        if wanted(Part::Lists) || wanted(Part::Impacts) {
            of_pairs(indexes, comparison, &pairs, &mut lists, &mut impacts)?;
        }
        let Some(end) = end else { break };
        from = end;
        from.push(0);
        comparison.means.go_on()?;
    }
    // Without impacts on both sides there is nothing to compare; `options` says which side has them.
    let both = indexes.iter().all(|index| index.impacts().is_some());
    for (part, differences) in [(Part::Terms, terms), (Part::Lists, lists), (Part::Impacts, impacts)] {
        if wanted(part) && (part != Part::Impacts || both) {
            found.push(differences);
        }
    }
    Ok(())
}

fn shown(term: &[u8]) -> String {
    format!("term \"{}\"", String::from_utf8_lossy(term))
}

/// Compares the lists of terms that both have, on all threads.
fn of_pairs(
    indexes: [&Index; 2],
    comparison: &Comparison,
    pairs: &[Pair],
    lists: &mut Differences,
    impacts: &mut Differences,
) -> Result<()> {
    let (mut tasks, mut start, mut postings) = (Vec::new(), 0, 0);
    for (i, pair) in pairs.iter().enumerate() {
        postings += u64::from(pair.infos[0].df);
        if postings >= TASK || i + 1 == pairs.len() {
            tasks.push((start..i + 1, std::mem::take(&mut postings)));
            start = i + 1;
        }
    }
    let wanted = |part: Part| comparison.parts.contains(&part);
    let quantised = match indexes.map(Index::impacts) {
        [Some(first), Some(second)] if wanted(Part::Impacts) => Some([first, second]),
        _ => None,
    };
    let keep = comparison.keep;
    let task = |task: usize| {
        let (mut lists, mut impacts) = (Differences::new(Part::Lists), Differences::new(Part::Impacts));
        let mut sides = [Postings::default(), Postings::default()];
        for pair in &pairs[tasks[task].0.clone()] {
            for ((index, info), side) in indexes.into_iter().zip(&pair.infos).zip(&mut sides) {
                side.read(index, info)?;
            }
            if wanted(Part::Lists) {
                lists_differ(pair, &sides, keep, &mut lists);
            }
            if let Some(quantised) = quantised {
                impacts_differ(pair, quantised, &sides, keep, &mut impacts)?;
            }
        }
        Ok((lists, impacts, tasks[task].1))
    };
    in_order::<_, crate::Error>(tasks.len(), &comparison.means, task, |(of_lists, of_impacts, postings)| {
        lists.join(keep, of_lists);
        impacts.join(keep, of_impacts);
        comparison.means.progress.advance(postings);
        Ok(())
    })
}

/// A list, decoded.
#[derive(Default)]
struct Postings {
    docs: Vec<u32>,
    tfs: Vec<u32>,
}

impl Postings {
    fn read(&mut self, index: &Index, info: &TermInfo) -> Result<()> {
        self.docs.clear();
        let list = index.list(info, index.codec(None)?)?;
        match &list {
            List::Single { doc, .. } => self.docs.push(*doc),
            List::Blocks(words) => words.decode_all(&mut self.docs)?,
        }
        self.tfs.clear();
        self.tfs.resize(self.docs.len(), 0);
        Blocks::new(list).copy_tfs(0, &mut self.tfs)
    }

    fn posting(&self, at: usize) -> String {
        match self.docs.get(at) {
            Some(doc) => format!("document {doc}, tf {}, of {} postings", self.tfs[at], self.docs.len()),
            None => format!("the end, after {} postings", self.docs.len()),
        }
    }
}

fn lists_differ(pair: &Pair, sides: &[Postings; 2], keep: usize, lists: &mut Differences) {
    let [first, second] = sides;
    if first.docs == second.docs && first.tfs == second.tfs {
        return;
    }
    lists.add(keep, || {
        let common = first.docs.len().min(second.docs.len());
        let same = |&at: &usize| first.docs[at] == second.docs[at] && first.tfs[at] == second.tfs[at];
        let at = (0..common).take_while(same).count();
        let place = format!("{}, posting {at}", shown(&pair.term));
        Difference { at: place, first: first.posting(at), second: second.posting(at) }
    });
}

fn impacts_differ(
    pair: &Pair,
    quantised: [Impacts<'_>; 2],
    sides: &[Postings; 2],
    keep: usize,
    impacts: &mut Differences,
) -> Result<()> {
    let [first, second] = [quantised[0].list(&pair.infos[0])?, quantised[1].list(&pair.infos[1])?];
    if first == second {
        return Ok(());
    }
    impacts.add(keep, || {
        let at = first.iter().zip(second).take_while(|(a, b)| a == b).count();
        let impact = |side: usize, impacts: &[u8]| match (sides[side].docs.get(at), impacts.get(at)) {
            (Some(doc), Some(impact)) => format!("document {doc}, impact {impact}"),
            _ => "the end".to_owned(),
        };
        let place = format!("{}, posting {at}", shown(&pair.term));
        Difference { at: place, first: impact(0, first), second: impact(1, second) }
    });
    Ok(())
}
