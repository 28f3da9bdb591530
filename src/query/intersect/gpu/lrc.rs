//! Algorithm 1: a thread a docID, within the safe ranges of the lines that lists are coded by.

use super::safe_range::SafeRange;
use super::{GpuIntersect, HALVES, Intersector, On, Recipe, SAFE_RANGE, elements, not_for};
use crate::index::ListWords;

/// What finds a docID in a block.
const IN_BLOCK: &str = concat!(
    include_str!("../../../../shaders/intersect/around_line.wgsl"),
    include_str!("../../../../shaders/intersect/lrc.wgsl")
);

/// `lrc`.
pub static LRC: Intersector = Intersector {
    name: "lrc",
    about: "for codecs lrc, lrc-seg and seg-lrc: the safe range of the list's line, the first docIDs of its blocks, and the docIDs of one of these",
    paper: "Ao et al.: Efficient parallel lists intersection and index compression (PVLDB 4(8), 2011), section 5.3, algorithm 1",
    on: On::Gpu(GpuIntersect {
        params: &[],
        make: |_, codec| {
            let own_lines = match codec.name() {
                "lrc" | "lrc-seg" => false,
                "seg-lrc" => true,
                _ => return Err(not_for("lrc", codec, "uses the lines of lrc, lrc-seg or seg-lrc")),
            };
            let rule = [SAFE_RANGE, include_str!("../../../../shaders/intersect/lr.wgsl"), HALVES];
            Ok(Recipe {
                table: Some(Box::new(move |list| {
                    if !own_lines {
                        return Ok(of_head(list).table());
                    }
                    let mut docs = Vec::new();
                    list.decode_all(&mut docs)?;
                    Ok(SafeRange::of(&docs, 0).table())
                })),
                ..elements(codec, true, &rule.concat(), IN_BLOCK)
            })
        },
    }),
};

/// The safe range that the head of a list of `lrc` or `lrc-seg` tells; see "Where a docID can be" at [`crate::codec`]'s `lrc`.
fn of_head(list: &ListWords<'_>) -> SafeRange {
    let word = |i: usize| list.words.get(i).copied().unwrap_or(0);
    let (base, first) = (word(0), list.skip(0).first);
    let slope = f64::from(word(2)) + f64::from(word(1) & !63) / 4_294_967_296.0;
    let span = f64::from((word(1) & 63).min(32)).exp2();
    // `base` is modulo 2^32, and the least deviation may be below 0
    let low = f64::from(first) - f64::from(first.wrapping_sub(base));
    SafeRange::of_bounds(slope, low, span)
}
