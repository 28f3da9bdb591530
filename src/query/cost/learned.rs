//! What queries cost by measurement: a model for each processor.

use super::Features;
use super::trees::{NUMBERS, Trees};
use crate::base::random::SplitMix64;
use crate::query::Mode;
use crate::{Error, Result};
use rayon::prelude::*;

/// Parts into which queries are dealt: each is estimated by models of the others.
pub const PARTS: u64 = 4;
/// Fewer queries teach nothing.
pub const FEWEST: usize = 40;
/// No estimate is below or above, in seconds: trees of a file may say anything.
const BOUNDS: [f64; 2] = [1e-9, 1e4];

/// A query's features, and what it took, in seconds.
pub type Measured = (Features, f64);
/// What a model looks at, and seconds.
pub(super) type Row = ([f64; NUMBERS], f64);

/// What a model looks at: lengths as logarithms.
fn numbers(features: &Features) -> [f64; NUMBERS] {
    let Features { shortest, second, sum, terms, k, mode } = *features;
    let any = if mode == Mode::And { 0.0 } else { 1.0 };
    let [shortest, second, terms, k] = [shortest, second, terms, k].map(|number| f64::from(number).ln_1p());
    [shortest, second, (sum as f64).ln_1p(), terms, k, any]
}

/// Learns the logarithm of the time.
fn learn(rows: &[Row]) -> Result<Trees> {
    let times: Vec<_> = rows.iter().map(|(_, seconds)| seconds.ln()).collect();
    Trees::grown(&rows.iter().map(|(numbers, _)| *numbers).collect::<Vec<_>>(), &times)
}

fn estimate(trees: &Trees, numbers: &[f64; NUMBERS]) -> f64 {
    trees.expect(numbers).exp().clamp(BOUNDS[0], BOUNDS[1])
}

/// A model of one processor, and how far it is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    trees: Trees,
    /// Mean relative error on what it has not seen: |estimate - time| / time.
    pub error: f64,
}

impl Learned {
    /// Learns from all queries. The error is that of models that learned from three quarters of them, each on the
    /// quarter that it has not seen.
    ///
    /// # Errors
    /// [`Error::Invalid`] for fewer than [`FEWEST`] queries, or for a time that is not above 0.
    pub fn from(measured: &[Measured]) -> Result<Self> {
        let rows: Vec<Row> = measured.iter().map(|(features, seconds)| (numbers(features), *seconds)).collect();
        Self::of_rows(&rows, "queries")
    }

    /// The same from rows of numbers; `what` they are is for errors.
    ///
    /// # Errors
    /// As of [`Self::from`].
    pub(super) fn of_rows(rows: &[Row], what: &str) -> Result<Self> {
        let refuse = |why: String| Err(Error::Invalid { what: "a calibration".to_owned(), why });
        if rows.len() < FEWEST {
            return refuse(format!(
                "needs {FEWEST} {what} or more that are not the same, and there are {}",
                rows.len()
            ));
        }
        if rows.iter().any(|(_, seconds)| !seconds.is_finite() || *seconds <= 0.0) {
            return refuse("needs times above 0".to_owned());
        }
        let held_out = |part: u64| -> Result<f64> {
            let of_part = |(number, _): &(u64, &Row)| part_of(*number) == part;
            let (out, kept): (Vec<_>, Vec<_>) = (0..).zip(rows).partition(of_part);
            let kept: Vec<Row> = kept.into_iter().map(|(_, one)| *one).collect();
            let trees = learn(&kept)?;
            Ok(out.iter().map(|(_, (numbers, seconds))| (estimate(&trees, numbers) - seconds).abs() / seconds).sum())
        };
        let (trees, errors) =
            rayon::join(|| learn(rows), || (0..PARTS).into_par_iter().map(held_out).collect::<Result<Vec<f64>>>());
        Ok(Self { trees: trees?, error: errors?.iter().sum::<f64>() / rows.len() as f64 })
    }

    /// Seconds that are expected of a row of numbers.
    pub(super) fn of_row(&self, numbers: &[f64; NUMBERS]) -> f64 {
        estimate(&self.trees, numbers)
    }

    /// Seconds that a query is expected to take.
    pub fn seconds(&self, features: &Features) -> f64 {
        match features.mode {
            // it may cost both
            Mode::AndOr => {
                [Mode::And, Mode::Or].map(|mode| self.of_row(&numbers(&Features { mode, ..*features }))).iter().sum()
            }
            _ => self.of_row(&numbers(features)),
        }
    }

    /// Appends the bytes of a file: the error, and the trees.
    pub(super) fn print(&self, out: &mut Vec<u8>) {
        out.extend(self.error.to_le_bytes());
        self.trees.print(out);
    }

    /// Reads what [`Self::print`] wrote, and returns what comes behind.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (error, rest) = bytes.split_first_chunk()?;
        let error = f64::from_le_bytes(*error);
        let (trees, rest) = Trees::parse(rest)?;
        (error.is_finite() && error >= 0.0).then_some((Self { trees, error }, rest))
    }
}

/// The part of a query, whatever turns the log takes.
fn part_of(number: u64) -> u64 {
    SplitMix64::new(number).next() % PARTS
}

/// Models of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct OnGpu {
    /// Of a query alone.
    pub alone: Learned,
    /// Of what a query adds to a batch.
    pub batched: Learned,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::cost::tests::made;
    use crate::query::cost::{CostModel, Rule};

    #[test]
    fn test_known_costs_are_learned_and_the_error_is_told() {
        let truth = |features: &Features| Rule.costs(features).cpu;
        let measured = made(2000, 0.2, truth);
        let learned = Learned::from(&measured).unwrap();
        let mean = measured.iter().map(|(_, seconds)| seconds.ln()).sum::<f64>() / measured.len() as f64;
        let by_mean: f64 = measured.iter().map(|(_, s)| (mean.exp() - s).abs() / s).sum::<f64>() / 2000.0;
        assert!(learned.error < 0.25 && learned.error < by_mean / 10.0, "{} against {by_mean}", learned.error);
        // noise of a fifth has a mean error of a tenth, and nobody can do better
        assert!(learned.error > 0.09, "{}: the queries held out were not", learned.error);
        // others of the same kind
        let fresh = &made(2500, 0.0, truth)[2000..];
        let error: f64 = fresh.iter().map(|(f, s)| (learned.seconds(f) - s).abs() / s).sum::<f64>() / 500.0;
        assert!(error < 0.2, "{error}");
        let features = fresh[0].0;
        let of = |mode| learned.seconds(&Features { mode, ..features });
        assert_eq!(of(Mode::AndOr), of(Mode::And) + of(Mode::Or));
    }

    #[test]
    fn test_what_teaches_nothing_is_refused() {
        let measured = made(FEWEST, 0.0, |_| 1.0);
        assert!(Learned::from(&measured).unwrap().error < 1e-9, "all take the same");
        assert!(Learned::from(&measured[1..]).is_err());
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut measured = measured.clone();
            measured[7].1 = wrong;
            assert!(Learned::from(&measured).is_err(), "{wrong}");
        }
    }

    #[test]
    fn test_each_part_has_its_share_of_every_turn() {
        for turns in 1..=6 {
            for turn in 0..turns {
                let of_turn = (0..4000).filter(|number| number % turns == turn);
                let mut parts = [0; PARTS as usize];
                of_turn.for_each(|number| parts[part_of(number) as usize] += 1);
                assert!(parts.iter().all(|&count| count * turns > 800 && count * turns < 1200), "{parts:?}");
            }
        }
    }
}
