//! Algorithm 1: a thread a docID, within the safe ranges of the lines of the lists' codec.

use super::{AndMethod, GpuAnd};
use crate::codec::{Bounds, list_bounds};
use crate::gpu::wgsl;
use crate::postings::ListWords;
use crate::query::gpu::recipe::{GpuIntersect, Recipe, elements, not_for};
use crate::query::gpu::safe_range::SafeRange;

/// `lrc`.
pub static LRC: AndMethod = AndMethod {
    name: "lrc",
    short: "lrc",
    about: "for codecs lrc, lrc-seg and seg-lrc: the safe range of the list's line, the first docIDs of its blocks, and the docIDs of one of these",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 5.3, algorithm 1",
    cpu: None,
    gpu: Some(GpuAnd::Candidates(GpuIntersect {
        params: &[],
        make: |settings, codec| {
            let own_lines = match codec.name() {
                "lrc" | "lrc-seg" => false,
                "seg-lrc" => true,
                _ => return Err(not_for("lrc", codec, "uses the lines of lrc, lrc-seg or seg-lrc")),
            };
            Ok(Recipe {
                table: Some(Box::new(move |list| {
                    if !own_lines {
                        return Ok(of_head(list).table());
                    }
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(SafeRange::of(&docs, 0).table())
                })),
                ..elements(settings, codec, wgsl!("and/lr"), wgsl!("and/lrc"))
            })
        },
    })),
};

/// The safe range in the head of a list of `lrc` or `lrc-seg`; anywhere if the head is damaged.
fn of_head(list: &ListWords<'_>) -> SafeRange {
    match list_bounds(list.words, list.skip(0).first) {
        Ok(Bounds { slope, low, span }) => SafeRange::of_bounds(slope, low, span),
        Err(_) => SafeRange::of_bounds(0.0, 0.0, 0.0),
    }
}
