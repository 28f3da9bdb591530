//! What queries cost where nobody has measured: a rule from the figures of one machine.

use super::{CostModel, Costs, Features};
use crate::query::Mode;

/// The stated rule. It stands for the machine of docs/measurements.md that has an H200 and cores of 2.3 GHz, and for an
/// index of 2 billion postings and more; `gamut calibrate` replaces it by what this machine does.
///
/// With s the postings of all lists of a query in millions, and k at least 10, microseconds are:
///
/// | | one thread of the CPU | a GPU, in a batch of many | a GPU, alone |
/// |---|---|---|---|
/// | all terms | (3 + 238 s^0.75) (k / 10)^0.1 | (1.9 + 0.01 s) (k / 10)^0.16 | 88 more |
/// | any term | (3 + 766 s^0.75) (k / 10)^0.18 | (3.5 + 0.15 s) (k / 10)^0.24 | 90 more |
///
/// A query of one list, with all terms or any, is one with any term. One that asks for all terms, else any, costs both.
///
/// These figures are from there, for s = 3.74 on average: one core takes 0.64, 0.83 and 0.99 ms for all terms, and
/// 2.06, 3.40 and 4.69 ms for any, at k = 10, 100 and 1,000, where the tables of lists are still to be made, as in a
/// command. A GPU answers 516,000, 459,000 and 212,000 queries a second in batches, or 249,000, 156,000 and 76,000, and
/// one alone in 0.09 ms at k = 10. The exponent 0.75 is a compromise between indexes of 69 million and 7 billion
/// postings; a GPU's batches hardly slow down between 2 and 7 billion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule;

impl CostModel for Rule {
    fn costs(&self, features: &Features) -> Costs {
        let Features { shortest, sum, terms, k, mode, .. } = *features;
        let postings = sum as f64 / 1e6;
        let more = f64::from(k.max(10)) / 10.0;
        let of = |[cpu, cpu_k]: [f64; 2], [fixed, each, gpu_k]: [f64; 3], alone: f64| {
            let batched = (fixed + each * postings) * more.powf(gpu_k);
            let cpu = (3.0 + cpu * postings.powf(0.75)) * more.powf(cpu_k);
            Costs { cpu: cpu / 1e6, gpu: (alone + batched) / 1e6, gpu_batched: batched / 1e6 }
        };
        let all = || of([238.0, 0.1], [1.9, 0.01, 0.16], 88.0);
        let any = || of([766.0, 0.18], [3.5, 0.15, 0.24], 90.0);
        match mode {
            Mode::And if terms > 1 && shortest > 0 => all(),
            Mode::And | Mode::Or => any(),
            Mode::AndOr if terms > 1 => all().and(any()),
            Mode::AndOr => any(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(sum: u64, k: u32, mode: Mode) -> Features {
        Features { shortest: (sum / 10) as u32, second: (sum / 5) as u32, sum, terms: 3, k, mode }
    }

    /// The figures that the rule is made from come out of it, those for other k within a quarter.
    #[test]
    fn test_the_rule_gives_its_figures_back() {
        let near = |value: f64, expected: f64, most: f64| {
            assert!((value / expected - 1.0).abs() < most, "{value} is not {expected}");
        };
        let figures = [
            (Mode::And, 10, 0.64e-3, 516_000.0, 0.08),
            (Mode::And, 100, 0.83e-3, 458_900.0, 0.25),
            (Mode::And, 1000, 0.99e-3, 211_500.0, 0.25),
            (Mode::Or, 10, 2.06e-3, 248_600.0, 0.08),
            (Mode::Or, 100, 3.40e-3, 155_900.0, 0.15),
            (Mode::Or, 1000, 4.69e-3, 76_000.0, 0.15),
        ];
        for (mode, k, cpu, rate, most) in figures {
            let costs = Rule.costs(&features(3_740_000, k, mode));
            near(costs.cpu, cpu, most);
            near(1.0 / costs.gpu_batched, rate, most);
        }
        near(Rule.costs(&features(3_740_000, 10, Mode::And)).gpu, 0.089e-3, 0.05);
        near(Rule.costs(&features(3_740_000, 10, Mode::Or)).gpu, 0.093e-3, 0.05);
    }

    #[test]
    fn test_more_work_costs_more_and_nothing_is_free() {
        for mode in [Mode::And, Mode::Or, Mode::AndOr] {
            let costs = |sum, k| Rule.costs(&features(sum, k, mode));
            let nothing = Rule.costs(&Features { shortest: 0, second: 0, sum: 0, terms: 0, k: 1, mode });
            assert!(nothing.cpu > 0.0 && nothing.gpu_batched > 0.0 && nothing.gpu > nothing.gpu_batched);
            let (few, many, deep) = (costs(1000, 10), costs(u64::MAX, 10), costs(1000, 1000));
            for part in [|c: &Costs| c.cpu, |c: &Costs| c.gpu, |c: &Costs| c.gpu_batched] {
                assert!(part(&few) < part(&many) && part(&few) < part(&deep));
                assert!(part(&many).is_finite());
            }
        }
        let [all, any, both] = [Mode::And, Mode::Or, Mode::AndOr].map(|mode| Rule.costs(&features(5000, 10, mode)));
        assert_eq!(both, all.and(any));
        let one = |mode| Rule.costs(&Features { terms: 1, ..features(5000, 10, mode) });
        assert_eq!(one(Mode::And), one(Mode::Or));
        assert_eq!(one(Mode::AndOr), one(Mode::Or));
    }
}
