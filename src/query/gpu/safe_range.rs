//! Regression lines that say where in a list a docID is expected, and how far from there it may be.

use super::recipe::Table;

/// A line, as `shaders/and/safe_range.wgsl` reads it. DocID `x` is expected at position `x factor / 2^32`, rounded
/// down. It is at most `left` positions before that position, and at most `right` positions behind it. Both may be
/// negative: the paper's `beta` is part of them. The slope comes from a least squares fit of docIDs over positions.
/// Deviations are measured from the line as it is kept, in whole numbers, so no rounding loses a docID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::query) struct SafeRange {
    /// 2^32 over the slope.
    factor: u32,
    left: i32,
    right: i32,
}

impl SafeRange {
    /// For a list of docIDs less `base`.
    pub(in crate::query) fn of(docs: &[u32], base: u32) -> Self {
        let factor = factor(crate::codec::least_squares(docs));
        let mut range = Self { factor, left: i32::MIN, right: i32::MIN };
        for (i, &doc) in (0i32..).zip(docs) {
            let expected = range.expected(doc - base);
            range.left = range.left.max(expected - i);
            range.right = range.right.max(i - expected);
        }
        if docs.is_empty() { Self::default() } else { range }
    }

    /// For a list with `slope i + low - 1 < doc[i] < slope i + low + span` for each position `i`. For a slope below 1
    /// the range is the whole list.
    pub(in crate::query) fn of_bounds(slope: f64, low: f64, span: f64) -> Self {
        let factor = factor(slope);
        // the factor is too small by up to 2^-32 of a position each docID, and the product is rounded down
        let slack = 3.0;
        let left = ((low + span) / slope + slack).ceil();
        let right = ((1.0 - low) / slope + slack).ceil();
        let [left, right] = [left, right].map(|most| match slope >= 1.0 {
            true => most.clamp(-f64::from(MOST), f64::from(MOST)) as i32,
            false => MOST,
        });
        Self { factor, left, right }
    }

    fn expected(self, x: u32) -> i32 {
        ((u64::from(x) * u64::from(self.factor)) >> 32).min(MOST as u64) as i32
    }

    /// The words that go with a list's terms.
    pub(in crate::query) fn numbers(self) -> [u32; 3] {
        [self.factor, self.left as u32, self.right as u32]
    }

    /// A table with these words only.
    pub(in crate::query) fn table(self) -> Table {
        Table { numbers: self.numbers(), words: Vec::new() }
    }
}

/// More than any position, and half of what fits.
const MOST: i32 = 0x3fff_ffff;

/// 2^32 over a slope, 1 at least.
fn factor(slope: f64) -> u32 {
    (4_294_967_296.0 / slope.max(1.0)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_bounds_of_a_line_hold_every_docid(
            slope in prop_oneof![1.0..1.001f64, 1.0..50.0f64, 1.0..100_000.0f64],
            low in -3_000_000i32..3_000_000,
            width in 0u32..24,
            seed: u64,
        ) {
            let (low, span) = (f64::from(low), f64::from(width).exp2());
            let range = SafeRange::of_bounds(slope, low, span);
            let mut state = seed;
            for i in (0..40_000i32).step_by(379) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let slot = (state >> 40) & ((1 << width) - 1);
                let doc = (slope * f64::from(i)).floor() + low + slot as f64;
                if (0.0..4_294_967_295.0).contains(&doc) {
                    let expected = range.expected(doc as u32);
                    prop_assert!(expected - range.left <= i && i <= expected + range.right, "{doc} at {i}: {range:?}");
                }
            }
        }
    }
}
