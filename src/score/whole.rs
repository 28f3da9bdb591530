//! Scores in whole numbers: the same to the bit on every engine, in whatever order the parts are added.
//!
//! A term's weight is multiplied with a power of two and rounded ([`Scale`]). A term of a negative weight takes away
//! what it would add with the same weight above 0, so only the sums know of signs. What a posting adds to a score, its
//! share, is the whole number nearest to `weight · tf / (tf + K)`, and 1 at least ([`share`]). Every sum of shares and
//! of their bounds is below 2^24, so single precision holds it exactly. Divided by the power of two it is the score of
//! BM25, in single precision, without any more rounding: different sums are different scores.
//!
//! A GPU may round a division either way, and may fuse a product with a sum. Each of `weight · tf` and `tf + K` is one
//! operation, which every processor rounds correctly; from their bits the shader finds the nearest whole number in
//! integer arithmetic (`shaders/score/bm25.wgsl`).

use crate::{Error, Result};

/// Bits of the greatest weight of a term, and so of a share. A GPU's division is off by 2.5 units in the last place, of
/// 24 bits: with 22 bits by less than 1.
const WEIGHT_BITS: u32 = 22;

/// Sums of shares and of bounds are below 2 to this.
pub const SCORE_BITS: u32 = 24;

/// What a bound of a term's shares may be over its weight: methods that keep a 255th of a bound round it up.
const ROOM: f64 = 256.0;

/// The most terms of a query for which sums stay below 2^[`SCORE_BITS`].
pub const MAX_TERMS: usize = 1 << 15;

/// A tf above this counts as this. Single precision holds every smaller one.
pub const MAX_TF: u32 = 1 << 24;

/// The power of two that turns a query's weights into whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// For weights that are already whole numbers.
    pub const ONE: Self = Self(1.0);

    /// The greatest power of two by which no weight is over 2^22, and all of them, with room for rounding bounds, stay
    /// below 2^[`SCORE_BITS`]. Weights are above 0: of a negative one, without its sign.
    ///
    /// # Errors
    /// [`Error::Limit`] for more weights than [`MAX_TERMS`].
    pub fn new(weights: &[f64]) -> Result<Self> {
        if weights.len() > MAX_TERMS {
            return Err(Error::Limit {
                what: "different terms of a query",
                value: weights.len() as u64,
                limit: MAX_TERMS as u64,
                hint: "leave out the terms of the least weight",
            });
        }
        if weights.is_empty() {
            // of a query that finds nothing
            return Ok(Self::ONE);
        }
        let greatest = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut scale = f64::from(1 << WEIGHT_BITS);
        while scale * greatest > f64::from(1 << WEIGHT_BITS) {
            scale /= 2.0;
        }
        while scale * greatest * 2.0 <= f64::from(1 << WEIGHT_BITS) {
            scale *= 2.0;
        }
        let whole = |scale| weights.iter().map(|&weight| f64::from(Self(scale).weight(weight)) + ROOM).sum::<f64>();
        while whole(scale) >= f64::from(1 << SCORE_BITS) {
            scale /= 2.0;
        }
        Ok(Self(scale))
    }

    /// A weight as a whole number, 1 at least.
    pub fn weight(self, weight: f64) -> f32 {
        (weight * self.0).round().max(1.0) as f32
    }

    /// What 1 stands for.
    pub fn unit(self) -> f32 {
        (1.0 / self.0) as f32
    }
}

/// What a posting adds to a score: `weight · tf / (tf + k)`, rounded to the nearest whole number, halves up, and 1 at
/// least. `weight` is a whole number, 1 to 2^22.
#[inline]
pub fn share(weight: f32, tf: u32, k: f32) -> f32 {
    let tf = tf.min(MAX_TF) as f32;
    let (above, below) = (weight * tf, tf + k);
    // Numerator and denominator have 24 bits, so twice that many tell on which side of a half the quotient is.
    // A cast rounds down, without a call.
    ((f64::from(above) / f64::from(below) + 0.5) as u32 as f32).max(1.0)
}

/// An upper bound of the shares of postings whose `tf / (tf + K)` is at most `impact`.
#[inline]
pub fn greatest_share(weight: f32, impact: f32) -> f32 {
    // What the product may have lost is less than a half. A cast rounds down, without a call.
    (weight * impact + 1.0) as u32 as f32
}

/// A lower bound of the shares of postings whose `tf / (tf + K)` is at least `impact`.
pub fn least_share(weight: f32, impact: f32) -> f32 {
    // a share is rounded, and the product may have lost less than a half
    ((weight * impact - 1.0) as u32).max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, in integers: `2 · share - 1 <= 2 · above / below < 2 · share + 1`.
    fn by_definition(weight: f32, tf: u32, k: f32) -> f32 {
        let parts = |x: f32| (u128::from(x.to_bits() & 0x7f_ffff | 0x80_0000), x.to_bits() >> 23);
        let tf = tf.min(MAX_TF) as f32;
        let ((n, n_exponent), (d, d_exponent)) = (parts(weight * tf), parts(tf + k));
        let (n, d) = (n << n_exponent.saturating_sub(d_exponent), d << d_exponent.saturating_sub(n_exponent).min(90));
        ((2 * n + d) / (2 * d)).max(1) as f32
    }

    fn weight() -> impl Strategy<Value = f32> {
        prop_oneof![1u32..1000, 1u32..=1 << WEIGHT_BITS, Just(1 << WEIGHT_BITS)].prop_map(|weight| weight as f32)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn test_shares_are_rounded_to_the_nearest(
            weight in weight(),
            tf in prop_oneof![1u32..20, 1u32..100_000, any::<u32>().prop_map(|tf| tf.max(1))],
            k in prop_oneof![Just(0.0f32), Just(0.5), Just(1.0), 0f32..3.0, 0f32..1e6, Just(1e-42), Just(1e30)],
        ) {
            let share = share(weight, tf, k);
            prop_assert_eq!(share, by_definition(weight, tf, k));
            prop_assert!((1.0..=weight).contains(&share) && share.fract() == 0.0);
            let count = tf.min(MAX_TF) as f32;
            prop_assert!(share <= greatest_share(weight, (count / (count + k) * (1.0 + 2e-6)).min(1.0)));
            let least = least_share(weight, count / (count + k) / (1.0 + 2e-6));
            prop_assert!(least <= share && share - least <= 3.0 + 4e-6 * weight, "{least} for {share}");
        }

        #[test]
        fn test_scales(weights in proptest::collection::vec(prop_oneof![1e-9f64..1e-3, 0.01f64..20.0, 1.0f64..1e7], 1..50)) {
            let scale = Scale::new(&weights).unwrap();
            prop_assert_eq!(scale.unit().to_bits() & 0x7f_ffff, 0, "a power of two");
            let whole = |scale: Scale| weights.iter().map(|&weight| scale.weight(weight)).collect::<Vec<f32>>();
            let fits = |scale: Scale| {
                let whole = whole(scale);
                let sum: f64 = whole.iter().map(|&weight| f64::from(weight) + ROOM).sum();
                whole.iter().all(|&weight| weight <= (1 << WEIGHT_BITS) as f32) && sum < f64::from(1 << SCORE_BITS)
            };
            prop_assert!(fits(scale) && !fits(Scale(2.0 * scale.0)));
        }
    }

    #[test]
    fn test_halves_are_rounded_up() {
        // 3 · 1 / (1 + 1), 5 · 1 / (1 + 1)
        assert_eq!((share(3.0, 1, 1.0), share(5.0, 1, 1.0), share(1.0, 1, 9.0)), (2.0, 3.0, 1.0));
        assert_eq!(share((1 << 22) as f32, u32::MAX, 0.0), (1 << 22) as f32);
    }

    #[test]
    fn test_as_many_terms_as_may_be() {
        let scale = Scale::new(&vec![7.5; MAX_TERMS]).unwrap();
        assert!(scale.weight(7.5) >= 128.0);
        assert!(Scale::new(&vec![7.5; MAX_TERMS + 1]).is_err());
        assert_eq!(Scale::new(&[]).unwrap().unit(), 1.0);
        // next to one term of a great weight the others still count
        assert_eq!(Scale::new(&[1e12, 1e-6]).unwrap().weight(1e-6), 1.0);
    }
}
