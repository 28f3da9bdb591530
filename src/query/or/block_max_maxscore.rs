//! MaxScore with bounds per block, a window of docIDs at a time.
//!
//! For each window the greatest bounds of the terms' blocks there decide which terms a document may lack. So a term
//! that one window needs is only looked up in another. The needed terms' postings are scored sixteen at a time and
//! added up in one accumulator per docID; documents with a chance are looked up in the other lists.

use super::*;
use crate::query::cpu::simd::Hope;
use crate::query::cpu::survivors::{BATCH, Survivors};
use crate::score::Bound;

/// `block-max-maxscore`.
pub static BLOCK_MAX_MAXSCORE: OrMethod = OrMethod {
    name: "block-max-maxscore",
    short: "bmm",
    about: "as maxscore, with bounds per block and postings scored sixteen at a time, a window of docIDs after the other",
    paper: "Chakrabarti, Chaudhuri, Ganti: Interval-based pruning for top-k processing over compressed lists (ICDE 2011, doi:10.1109/ICDE.2011.5767855); Dimopoulos, Nepomnyachiy, Suel: Optimizing top-k document retrieval strategies for block-max indexes (WSDM 2013, doi:10.1145/2433396.2433412)",
    cpu: Some(rank!(run)),
    gpu: None,
};

/// DocIDs of a window.
const WINDOW: usize = 16384;
/// DocIDs whose sums are checked together.
const GRAIN: usize = 64;

/// Words with a bit for each grain of a window.
const WORDS: usize = WINDOW / GRAIN / 64;

/// One sum per docID of a window, all 0 between uses.
struct Accumulators {
    sums: Box<[f32; WINDOW]>,
    /// One bit per [`GRAIN`] that may hold sums other than 0.
    touched: [u64; WORDS],
}

impl Accumulators {
    /// Adds the parts of docIDs within the window that starts at `from`.
    fn add(&mut self, from: u32, docs: &[u32], parts: &[f32]) {
        for (&doc, &part) in docs.iter().zip(parts) {
            let at = doc.wrapping_sub(from) as usize % WINDOW;
            self.sums[at] += part;
            self.touched[at / GRAIN / 64] |= 1 << (at / GRAIN % 64);
        }
    }
}

/// The first docIDs of the grains whose bits are set, within the window.
fn set_grains(touched: &[u64; WORDS]) -> impl Iterator<Item = usize> {
    (0..).zip(touched).flat_map(|(word, &bits)| {
        let mut bits = bits;
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some((64 * word + bit) * GRAIN)
        })
    })
}

pub(super) fn run(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    crate::query::cpu::wide!(run_any(terms, scorer, top));
}

#[inline(always)]
fn run_any(terms: &mut [Scored<'_>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    terms.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let below_all = bounds_below(terms);
    // Whether there are bounds of ranges.
    let near = terms.iter().any(|term| term.reach.is_some());
    // The first `optional` terms together reach no more than the threshold wherever they are.
    let mut optional = 0;
    let mut accumulators = Accumulators { sums: Box::new([0.0; WINDOW]), touched: [0; WORDS] };
    let mut survivors = Survivors::default();
    // The terms and their bounds in the window, lowest bound first.
    let mut local: Vec<(f32, usize)> = Vec::with_capacity(terms.len());
    let mut within = vec![Bound(u32::MAX); terms.len()];
    let mut below = vec![0.0; terms.len() + 1];
    let mut fed = Vec::with_capacity(terms.len());
    let mut from = 0;
    loop {
        while optional < terms.len() && below_all[optional + 1] <= top.threshold() {
            optional += 1;
        }
        from =
            terms[optional..].iter_mut().map(|term| term.feed.next_from(&mut term.cursor, from)).min().unwrap_or(END);
        // The last block of an unread list may go on to the last document.
        if from as usize >= scorer.documents() {
            return;
        }
        let end = from.saturating_add(WINDOW as u32);
        local.clear();
        local.extend(terms.iter_mut().enumerate().map(|(i, term)| {
            let known = top.threshold() >= 0.0;
            (if known { term.bound_in(from, end, scorer) } else { term.bound }, i)
        }));
        local.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (i, (bound, _)) in local.iter().enumerate() {
            below[i + 1] = below[i] + bound;
        }
        let first = (0..local.len()).take_while(|&i| below[i + 1] <= top.threshold()).count();
        fed.clear();
        fed.extend(local[first..].iter().map(|(_, term)| *term));
        for &term in &fed {
            within[term] = terms[term].packed_in(from, end);
            terms[term].window(from, end, scorer);
        }
        let flush = |survivors: &mut Survivors, terms: &mut [Scored<'_>], top: &mut TopK<'_>| {
            for (i, &(bound, term)) in local[..first].iter().enumerate().rev() {
                if near {
                    let rest = local[..=i].iter().map(|&(bound, term)| (&terms[term], bound));
                    survivors.drop_unreachable(rest, false, top.threshold());
                }
                let hope = Hope { more: below[i], threshold: top.threshold() };
                survivors.look_up(&mut terms[term], bound, false, hope, scorer);
            }
            survivors.finish(top);
        };
        match fed[..] {
            [] => {}
            [one] => {
                let n = terms[one].feed.len();
                for at in (0..n).step_by(BATCH) {
                    let hope = Hope { more: below[first], threshold: top.threshold() };
                    let some = terms[one].promising(at..(at + BATCH).min(n), within[one], hope, scorer);
                    survivors.push_all(some, hope);
                    flush(&mut survivors, terms, top);
                }
            }
            _ => {
                for &(bound, term) in &local[first..] {
                    // A posting that cannot bring its document past the threshold with all that the others add at most
                    // is left out: its document's sum is then too low, but was not high enough.
                    let hope = Hope { more: below[local.len()] - bound, threshold: top.threshold() };
                    let n = terms[term].feed.len();
                    let (docs, parts) = terms[term].promising(0..n, within[term], hope, scorer);
                    accumulators.add(from, docs, parts);
                }
                let touched = std::mem::take(&mut accumulators.touched);
                for grain in set_grains(&touched) {
                    let hope = Hope { more: below[first], threshold: top.threshold() };
                    let grains = &mut accumulators.sums[grain..grain + GRAIN];
                    let mut hits = hope.mask(grains);
                    while hits != 0 {
                        let at = hits.trailing_zeros() as usize;
                        hits &= hits - 1;
                        survivors.push(from + (grain + at) as u32, grains[at]);
                    }
                    grains.fill(0.0);
                    if survivors.len() >= BATCH {
                        flush(&mut survivors, terms, top);
                    }
                }
                flush(&mut survivors, terms, top);
            }
        }
        from = end;
    }
}
