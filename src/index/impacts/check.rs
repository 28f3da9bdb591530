//! Impacts against their postings; every impact is computed again.

use super::make::each_posting;
use super::{IMPACTS, Impacts, words_of};
use crate::error::damaged;
use crate::index::format::manifest::MANIFEST;
use crate::index::format::tables::Place;
use crate::index::format::{self, HEADER_WORDS};
use crate::index::read::reader::Index;
use crate::postings::List;
use crate::score::{MAX_IMPACT, idf};
use crate::{Error, Result};
use rayon::prelude::*;

/// Terms that one task checks.
const CHUNK: u64 = 4096;

/// Reports every list whose impacts are wrong or misplaced, and a stored greatest share of a score that is wrong.
pub(in crate::index) fn check(index: &Index, report: &(dyn Fn(Error) + Sync)) {
    let Some(impacts) = index.impacts() else { return };
    let terms = index.statistics().terms;
    let chunks = (0..terms.div_ceil(CHUNK)).into_par_iter();
    let greatest = chunks.map(|chunk| {
        let mut greatest = 0f32;
        for id in chunk * CHUNK..(chunk * CHUNK + CHUNK).min(terms) {
            match term(index, impacts, id as u32) {
                Ok(share) => greatest = greatest.max(share),
                Err(error) => report(error),
            }
        }
        greatest
    });
    let greatest = greatest.reduce(|| 0.0, f32::max);
    let stated = index.manifest().impacts.maximum;
    let greatest = if index.manifest().weights() { MAX_IMPACT.into() } else { greatest };
    if terms > 0 && Some(greatest) != stated {
        let what = format!("the greatest share of a score is {greatest}, but the manifest says {stated:?}");
        report(damaged(&index.dir().join(MANIFEST), 0, what));
    }
    if let Err(error) = places(index, impacts) {
        report(error);
    }
}

/// Compares the impacts of one term and returns the greatest share of a score.
fn term(index: &Index, impacts: Impacts<'_>, id: u32) -> Result<f32> {
    let info = index.term(id)?;
    let (lens, norm) = (index.lens(), index.default_norm());
    let len = |doc: u32| lens.get(doc as usize).copied().unwrap_or(0);
    let idf = idf(index.manifest().collection().documents, info.df) as f32;
    let list = match index.list(&info, index.codec(None)?)? {
        List::Single { doc, tf } => return Ok(idf * norm.impact(tf, len(doc))),
        List::Blocks(list) => list,
    };
    let quantizer = impacts.quantizer().term(info.df);
    let bytes: &[u8] = bytemuck::cast_slice(impacts.words(&info)?);
    let (mut at, mut greatest, mut wrong) = (0, 0f32, None);
    each_posting(&list, |docs, tfs| {
        for (&doc, &tf) in docs.iter().zip(tfs) {
            if bytes[at] != quantizer.impact(tf, len(doc)) {
                wrong.get_or_insert(at);
            }
            greatest = greatest.max(idf * norm.impact(tf, len(doc)));
            at += 1;
        }
    })?;
    let padding = bytes[at..].iter().position(|&byte| byte != 0).map(|i| at + i);
    let Some(at) = wrong.or(padding) else { return Ok(greatest) };
    let offset = 4 * impacts.place(list.number)? + at as u64;
    let what = format!("impact {at} of list {} is {}, which is not what the posting gives", list.number, bytes[at]);
    Err(damaged(&index.dir().join(IMPACTS), offset, what))
}

/// Every list lies right behind the one before it, except at the end of a window.
fn places(index: &Index, impacts: Impacts<'_>) -> Result<()> {
    let mut end = HEADER_WORDS as u64;
    for id in 0..index.statistics().terms as u32 {
        let info = index.term(id)?;
        let Place::List { list, .. } = info.place else { continue };
        let words = words_of(info.df);
        let wanted = format::place(end, words, index.manifest().window_words, "words of the impacts of a list")?;
        let found = impacts.place(list)?;
        if found != wanted {
            let what = format!("the impacts of list {list} are said to start at word {found}, not {wanted}");
            return Err(damaged(&index.dir().join(IMPACTS), 4 * wanted, what));
        }
        end = wanted + words;
    }
    Ok(())
}
