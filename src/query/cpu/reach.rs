//! What a term can add to the scores of documents, by the bounds of its list's ranges.

use crate::score::RangeBounds;

/// The bounds of a list's ranges for a term of a query.
#[derive(Clone, Copy)]
pub(in crate::query) struct Reach<'a> {
    /// Four bytes and then one for each range.
    pub(super) bytes: &'a [u8],
    /// DocIDs of a range, as a power of two, and the last range.
    pub(super) shift: u32,
    pub(super) last: u32,
    /// A posting in a range of code `c` adds less than `base + c · step`.
    pub(super) base: f32,
    pub(super) step: f32,
    /// What it adds at most, and where the list has no document near. All but this are whole numbers.
    pub(super) most: f32,
    pub(super) lacking: f32,
}

impl<'a> Reach<'a> {
    /// For a term of this weight in a query whose impacts are at most `ratio` times those of the default parameters.
    pub(in crate::query) fn new(bounds: RangeBounds<'a>, weight: f32, ratio: f32) -> Self {
        let (ranges, (low, step)) = (bounds.ranges(), bounds.line());
        let factor = weight * ratio;
        // A share is rounded, by a half at most, and products and sums lose less than one and a half, as weights are at
        // most 2²².
        let base = factor * low + 2.0;
        Self {
            bytes: bounds.bytes(),
            shift: ranges.shift,
            last: ranges.count as u32 - 1,
            base,
            step: factor * step,
            ..NOWHERE
        }
    }

    /// The same where the term adds `most` at most, and `lacking` where the list has no document near.
    pub(super) fn within(self, most: f32, lacking: f32) -> Self {
        Self { most, lacking, ..self }
    }

    /// Whether 32 bits with a sign lead to every byte.
    pub(super) fn is_short(&self) -> bool {
        assert!(self.bytes.len() > 4 + self.last as usize);
        self.last < i32::MAX as u32 - 8
    }

    /// The most that the term adds to a document.
    pub(super) fn of(&self, doc: u32) -> f32 {
        let range = (doc >> self.shift).min(self.last);
        match self.bytes[4 + range as usize] {
            0 => self.lacking,
            // A cast rounds down, without a call.
            code => (self.base + f32::from(code) * self.step).min(self.most) as u32 as f32,
        }
    }
}

/// So many terms are asked at a time; others count with the most that they add anywhere.
pub(super) const MOST: usize = 8;

/// Of no list.
pub(super) const NOWHERE: Reach<'static> =
    Reach { bytes: &[], shift: 0, last: 0, base: 0.0, step: 0.0, most: 0.0, lacking: 0.0 };
