//! The Γ-partition of a bitonic network: which comparisons one kernel does on one part of the keys.
//!
//! From Capannini, Silvestri, Baraglia: Sorting on GPUs for large scale datasets, IP&M 2011, section 5
//! (doi:10.1016/j.ipm.2010.11.010). Pure functions; the kernels of [`super::bitonic`] are instances of
//! them, and the tests run the whole network through them as plain loops.
//!
//! A network for n = 2^i keys has stages s = 1..=i, and stage s has the steps c = s−1, …, 0. In step
//! (s, c) two keys meet if and only if their indexes differ in bit c alone (claim 1). A *superstep* is a
//! row of consecutive steps done on parts that fit on-chip memory of σ keys. Its *Γ-sequence* is the set
//! of the index bits that its steps flip; keys are in one part if and only if they agree on every bit
//! outside Γ (claim 2), so that a part has 2^|Γ| keys (lemma 1) and there are n / 2^|Γ| parts
//! (corollary 1). Every superstep reads and writes each key once, so the fewer supersteps the better.
//!
//! - **Γ₀** = bits [0, log σ): all steps of the stages 1..=log σ at once, (log² σ + log σ)/2 of them
//!   (definition 2).
//! - **Γ≥**: bits c, c−1, … of one stage, above what σ consecutive keys cover.
//! - **Γ≤**: what is left of stage s, bits c..=0, and then the first steps of stage s+1, bits s, s−1, …
//!   (definition 1). Here one pass over memory serves two stages.
//!
//! A device moves k consecutive keys at the price of one, so every Γ starts out with the bits
//! [0, log k) and is then filled with the bits of the next steps until it has log σ of them. Hence a
//! Γ≥ superstep does log(σ/k) steps, a Γ≤ superstep up to log σ of them, and a stage has one Γ≤ behind as many Γ≥ as it
//! needs: sorting n keys takes Θ(log²(n/σ) / log(σ/k)) supersteps, each of Θ(n/k) memory transactions.
//! A superstep never ends later if it starts earlier, so taking as many steps as fit is optimal.

/// step_{s,c}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// s: bitonic sequences of 2^s keys are merged; from 1 on.
    pub stage: u32,
    /// c: the index bit that tells the two keys of a comparison apart; below s.
    pub bit: u32,
}

/// Γ as two runs of index bits: [0, low) and [base, base + high).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gamma {
    /// Length of the run that starts at bit 0.
    pub low: u32,
    /// Lowest bit of the upper run; at least `low`.
    pub base: u32,
    /// Length of the upper run.
    pub high: u32,
}

impl Gamma {
    /// |Γ|: a part has 2^|Γ| keys.
    pub fn bits(self) -> u32 {
        self.low + self.high
    }

    /// Whether an index bit is in Γ.
    pub fn contains(self, bit: u32) -> bool {
        bit < self.low || (self.base..self.base + self.high).contains(&bit)
    }

    /// The bit of an index within the part that stands for index bit `bit`, if that is in Γ.
    pub fn local_bit(self, bit: u32) -> Option<u32> {
        self.contains(bit).then(|| if bit < self.low { bit } else { bit - self.base + self.low })
    }

    /// The index of key `local` of part `part` (algorithm 2): the bits of `local` go to the positions
    /// in Γ, those of `part` to the others, both in ascending order.
    pub fn index(self, part: u64, local: u64) -> u64 {
        let between = self.base - self.low;
        let below = |value: u64, bits: u32| value & ((1 << bits) - 1);
        below(local, self.low)
            | below(part, between) << self.low
            | (local >> self.low) << self.base
            | (part >> between) << (self.base + self.high)
    }
}

/// A row of consecutive steps and its Γ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superstep {
    /// The first step.
    pub first: Step,
    /// How many steps of `first.stage`, or of all stages up to it if `sorts`.
    pub steps: u32,
    /// How many steps of the stage after it.
    pub next_steps: u32,
    /// Γ₀: the part is sorted from scratch, stages 1..=`gamma.low`.
    pub sorts: bool,
    /// The bits that its steps flip, and those added for coalescing.
    pub gamma: Gamma,
}

impl Superstep {
    /// Its steps, in order.
    pub fn list(&self) -> Vec<Step> {
        if self.sorts {
            return (1..=self.gamma.low)
                .flat_map(|stage| (0..stage).rev().map(move |bit| Step { stage, bit }))
                .collect();
        }
        let Step { stage, bit } = self.first;
        let rest = (0..self.steps).map(|i| Step { stage, bit: bit - i });
        rest.chain((0..self.next_steps).map(|i| Step { stage: stage + 1, bit: stage - i })).collect()
    }
}

/// The supersteps that sort 2^`log_n` keys, with parts of 2^`log_sigma` keys and segments of 2^`log_k`.
///
/// # Panics
/// Unless `log_k` < `log_sigma` <= `log_n` < 64.
pub fn schedule(log_n: u32, log_sigma: u32, log_k: u32) -> Vec<Superstep> {
    assert!(log_k < log_sigma && log_sigma <= log_n && log_n < 64, "{log_k} < {log_sigma} <= {log_n} < 64");
    let whole = Gamma { low: log_sigma, base: log_sigma, high: 0 };
    let mut supersteps = vec![Superstep {
        first: Step { stage: 1, bit: 0 },
        steps: log_sigma * (log_sigma + 1) / 2,
        next_steps: 0,
        sorts: true,
        gamma: whole,
    }];
    let (mut stage, mut left) = (log_sigma + 1, log_sigma + 1);
    while stage <= log_n {
        // steps left..0 of `stage` remain, the next one at bit left − 1
        let first = Step { stage, bit: left - 1 };
        if left > log_sigma {
            let steps = log_sigma - log_k;
            left -= steps;
            let gamma = Gamma { low: log_k, base: left, high: steps };
            supersteps.push(Superstep { first, steps, next_steps: 0, sorts: false, gamma });
            continue;
        }
        let (steps, low) = (left, left.max(log_k));
        // the last stage has no next one; its part is then σ consecutive keys
        let next_steps = if stage == log_n { 0 } else { log_sigma - low };
        let gamma = if next_steps == 0 { whole } else { Gamma { low, base: stage + 1 - next_steps, high: next_steps } };
        supersteps.push(Superstep { first, steps, next_steps, sorts: false, gamma });
        stage += 1;
        left = stage - next_steps;
    }
    supersteps
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(u32, u32); 7] = [(1, 0), (2, 1), (3, 1), (4, 2), (6, 4), (10, 4), (12, 4)];

    #[test]
    fn test_every_step_once_in_order() {
        for (sigma, k) in SHAPES {
            for n in sigma..=28 {
                let got: Vec<_> = schedule(n, sigma, k).iter().flat_map(Superstep::list).collect();
                let all: Vec<_> =
                    (1..=n).flat_map(|stage| (0..stage).rev().map(move |bit| Step { stage, bit })).collect();
                assert_eq!(got, all, "n = 2^{n}, sigma = 2^{sigma}, k = 2^{k}");
            }
        }
    }

    #[test]
    fn test_gamma_holds_its_steps_and_the_coalescing_bits() {
        for (sigma, k) in SHAPES {
            for n in sigma..=28 {
                for superstep in schedule(n, sigma, k) {
                    let gamma = superstep.gamma;
                    assert_eq!(gamma.bits(), sigma, "{superstep:?}");
                    assert!(gamma.base >= gamma.low && gamma.base + gamma.high <= n, "{superstep:?}");
                    assert!((0..k).all(|bit| gamma.contains(bit)), "{superstep:?}");
                    assert!(superstep.list().iter().all(|s| gamma.contains(s.bit)), "{superstep:?}");
                }
            }
        }
    }

    #[test]
    fn test_index_is_a_bijection_and_parts_are_closed() {
        for superstep in schedule(9, 4, 2) {
            let gamma = superstep.gamma;
            let mut seen = [false; 1 << 9];
            for part in 0..1 << (9 - gamma.bits()) {
                let indexes: Vec<_> = (0..1 << gamma.bits()).map(|local| gamma.index(part, local)).collect();
                for (local, &index) in indexes.iter().enumerate() {
                    assert!(!std::mem::replace(&mut seen[index as usize], true), "{index} twice");
                    for step in superstep.list() {
                        let partner = local ^ 1 << gamma.local_bit(step.bit).expect("in Γ");
                        assert_eq!(indexes[partner], index ^ 1 << step.bit, "{superstep:?}");
                    }
                }
            }
            assert!(seen.iter().all(|&s| s), "{superstep:?}");
        }
    }

    /// The network as plain loops over parts, without what is listed in `without`.
    fn sort(keys: &mut [u64], sigma: u32, k: u32, without: Option<(Step, u64)>) {
        let n = keys.len().ilog2();
        for superstep in schedule(n, sigma, k) {
            for part in 0..1 << (n - sigma) {
                for step in superstep.list() {
                    for local in 0..1 << sigma {
                        let low = superstep.gamma.index(part, local);
                        let high = low | 1 << step.bit;
                        if low == high || without == Some((step, low)) {
                            continue;
                        }
                        let descending = low >> step.stage & 1 == 1;
                        if (keys[low as usize] > keys[high as usize]) != descending {
                            keys.swap(low as usize, high as usize);
                        }
                    }
                }
            }
        }
    }

    /// A network sorts everything if it sorts all keys of zeros and ones.
    #[test]
    fn test_network_sorts_and_every_fault_shows() {
        let unsorted = |without| {
            (0u32..1 << 16).any(|word| {
                let mut keys: Vec<_> = (0..16).map(|i| u64::from(word >> i & 1)).collect();
                sort(&mut keys, 2, 1, without);
                !keys.is_sorted()
            })
        };
        assert!(!unsorted(None));
        for (stage, bit, low) in [(1, 0, 2), (2, 1, 4), (3, 2, 8), (4, 3, 5), (4, 0, 14)] {
            assert!(unsorted(Some((Step { stage, bit }, low))), "nobody missed {stage}, {bit}, {low}");
        }
    }

    #[test]
    fn test_count_of_supersteps() {
        // one sort of the parts, then Γ≥ and Γ≤ in turn; the final-superstep-per-stage plan takes 35
        assert_eq!(schedule(12, 12, 4).len(), 1);
        assert_eq!(schedule(13, 12, 4).len(), 3);
        assert_eq!(schedule(26, 12, 4).len(), 29);
    }
}
