//! What single intersections cost on each processor, and moving between them, by measurement: for queries that move.

use super::learned::{Learned, Row};
use super::trees::NUMBERS;
use crate::Result;
use crate::query::migrate::{Machine, StepCosts};

/// An intersection of what is left of a query with its next list, before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepFeatures {
    /// DocIDs that are left; at first those of the shortest list.
    pub candidates: u32,
    /// The length of the next list.
    pub list: u32,
    /// Whether the shortest list is still to be decoded.
    pub first: bool,
    /// How many documents are ranked if no list comes after this one.
    pub last: Option<u32>,
}

impl StepFeatures {
    /// What a model looks at. The codec is not among it: a calibration is of one.
    fn numbers(&self) -> [f64; NUMBERS] {
        let Self { candidates, list, first, last } = *self;
        let [few, many, k] = [candidates, list, last.unwrap_or(0)].map(|number| f64::from(number).ln_1p());
        [few, many, many - few, first.into(), last.is_some().into(), k]
    }
}

/// The number of docIDs that move is all that matters.
fn of_move(candidates: u32) -> [f64; NUMBERS] {
    let mut numbers = [0.0; NUMBERS];
    numbers[0] = f64::from(candidates).ln_1p();
    numbers
}

/// Steps and moves that were measured, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredSteps {
    /// Steps on the CPU, and on the GPU, whose lists were there.
    pub steps: [Vec<(StepFeatures, f64)>; 2],
    /// Moves to the CPU, and to the GPU, of so many docIDs.
    pub moves: [Vec<(u32, f64)>; 2],
}

/// Models of steps and moves.
#[derive(Clone, Debug, PartialEq)]
pub struct StepModels {
    /// Of a step on the CPU, and on the GPU.
    pub steps: [Learned; 2],
    /// Of a move to the CPU, and to the GPU.
    pub moves: [Learned; 2],
}

impl StepModels {
    /// Learns from what was measured.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for fewer than [`super::FEWEST`] steps or moves to a processor, or for a time that is
    /// not above 0.
    pub fn from(measured: &MeasuredSteps) -> Result<Self> {
        let of_steps = |of: usize| {
            let rows = measured.steps[of].iter().map(|(features, seconds)| (features.numbers(), *seconds));
            Learned::of_rows(&rows.collect::<Vec<Row>>(), "steps on each processor")
        };
        let of_moves = |of: usize| {
            let rows = measured.moves[of].iter().map(|&(candidates, seconds)| (of_move(candidates), seconds));
            Learned::of_rows(&rows.collect::<Vec<Row>>(), "moves to each processor")
        };
        Ok(Self { steps: [of_steps(0)?, of_steps(1)?], moves: [of_moves(0)?, of_moves(1)?] })
    }

    /// Seconds that a step is expected to take on each processor, and moving to the one that the candidates are not on.
    pub fn costs(&self, features: &StepFeatures, at: Option<Machine>) -> StepCosts {
        let [cpu, gpu] = [0, 1].map(|of: usize| self.steps[of].of_row(&features.numbers()));
        let to = |of: usize| self.moves[of].of_row(&of_move(features.candidates));
        let moving = match at {
            None => 0.0,
            Some(Machine::Gpu) => to(0),
            Some(Machine::Cpu) => to(1),
        };
        StepCosts { cpu, gpu, moving }
    }

    /// Appends the bytes of a file: the models of steps, then of moves, each the CPU's first.
    pub(super) fn print(&self, out: &mut Vec<u8>) {
        self.steps.iter().chain(&self.moves).for_each(|model| model.print(out));
    }

    /// Reads what [`Self::print`] wrote, and returns what comes behind.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (cpu, rest) = Learned::parse(bytes)?;
        let (gpu, rest) = Learned::parse(rest)?;
        let (to_cpu, rest) = Learned::parse(rest)?;
        let (to_gpu, rest) = Learned::parse(rest)?;
        Some((Self { steps: [cpu, gpu], moves: [to_cpu, to_gpu] }, rest))
    }
}

#[cfg(test)]
pub(in crate::query) mod tests {
    use super::*;
    use crate::base::random::Rng;
    use crate::query::cost::FEWEST;

    /// Steps of all sizes, and what they take by rules that are made up: `cpu` and `gpu` of a step, and of a move.
    pub(in crate::query) fn made(
        count: usize,
        step: impl Fn(&StepFeatures) -> [f64; 2],
        moving: impl Fn(u32) -> [f64; 2],
    ) -> MeasuredSteps {
        let mut random = Rng::new(3, 0, 0);
        let mut measured = MeasuredSteps::default();
        for _ in 0..count {
            let candidates = 1u32 << random.below(20);
            let list = candidates << random.below(8);
            let last = (random.below(2) == 1).then_some(10);
            let features = StepFeatures { candidates, list, first: random.below(2) == 1, last };
            for of in 0..2 {
                measured.steps[of].push((features, step(&features)[of]));
                measured.moves[of].push((candidates, moving(candidates)[of]));
            }
        }
        measured
    }

    #[test]
    fn test_made_up_costs_are_learned() {
        let step = |features: &StepFeatures| {
            let StepFeatures { candidates, list, first, .. } = *features;
            let decoded = if first { 2.0 } else { 1.0 };
            [1e-8 * f64::from(candidates) * decoded + 1e-6, 1.3e-4 + 1e-11 * f64::from(list)]
        };
        let moving = |candidates: u32| [5e-5 + 1e-9 * f64::from(candidates), 2e-5 + 2e-9 * f64::from(candidates)];
        let models = StepModels::from(&made(3000, step, moving)).unwrap();
        for model in models.steps.iter().chain(&models.moves) {
            assert!(model.error < 0.1, "{}", model.error);
        }
        for (candidates, list, first) in [(1u32, 2u32, true), (1 << 18, 1 << 19, true), (1 << 18, 1 << 24, false)] {
            let features = StepFeatures { candidates, list, first, last: None };
            for (at, to) in [(None, None), (Some(Machine::Cpu), Some(1)), (Some(Machine::Gpu), Some(0))] {
                let costs = models.costs(&features, at);
                let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.2;
                let [cpu, gpu] = step(&features);
                assert!(near(costs.cpu, cpu) && near(costs.gpu, gpu), "{features:?}: {costs:?}");
                match to {
                    None => assert_eq!(costs.moving, 0.0),
                    Some(to) => assert!(near(costs.moving, moving(candidates)[to]), "{costs:?}"),
                }
            }
        }
        let mut bytes = Vec::new();
        models.print(&mut bytes);
        bytes.push(1);
        assert_eq!(StepModels::parse(&bytes), Some((models, &[1u8][..])));
    }

    #[test]
    fn test_few_steps_or_moves_teach_nothing() {
        let all = made(FEWEST, |_| [1e-5; 2], |_| [1e-6; 2]);
        assert!(StepModels::from(&all).is_ok());
        for part in 0..2 {
            let mut few = all.clone();
            few.steps[part].pop();
            assert!(StepModels::from(&few).unwrap_err().to_string().contains("needs 40 steps on each processor"));
            let mut few = all.clone();
            few.moves[part].pop();
            assert!(StepModels::from(&few).unwrap_err().to_string().contains("needs 40 moves to each processor"));
        }
    }
}
