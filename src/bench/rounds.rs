//! Several ways of doing the same things, timed in turn, so that a temporary slowdown of the machine hits all of them.

use std::time::Instant;

/// The subject of [`interleave`].
pub(super) trait Ways {
    /// Untimed work before a turn of way number `way`.
    ///
    /// # Errors
    /// Those of the way.
    fn prepare(&mut self, way: usize) -> anyhow::Result<()>;

    /// Does thing number `thing` in way number `way`.
    ///
    /// # Errors
    /// Those of the way.
    fn run(&mut self, way: usize, thing: usize) -> anyhow::Result<()>;
}

/// Seconds of each thing in each way, one a round: `[way][thing][round]`. In a round every way has a turn, in which it
/// does all things one after the other. A first round does not count.
///
/// # Errors
/// The first one of a way.
pub(super) fn interleave(
    ways: usize,
    things: usize,
    rounds: u32,
    what: &mut impl Ways,
) -> anyhow::Result<Vec<Vec<Vec<f64>>>> {
    let mut seconds = vec![vec![Vec::with_capacity(rounds as usize); things]; ways];
    for round in 0..=rounds {
        for (way, seconds) in seconds.iter_mut().enumerate() {
            what.prepare(way)?;
            for (thing, seconds) in seconds.iter_mut().enumerate() {
                let start = Instant::now();
                what.run(way, thing)?;
                let elapsed = start.elapsed().as_secs_f64();
                if round > 0 {
                    seconds.push(elapsed);
                }
            }
        }
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<(usize, Option<usize>)>);

    impl Ways for Log {
        fn prepare(&mut self, way: usize) -> anyhow::Result<()> {
            self.0.push((way, None));
            Ok(())
        }
        fn run(&mut self, way: usize, thing: usize) -> anyhow::Result<()> {
            self.0.push((way, Some(thing)));
            anyhow::ensure!(way < 9, "no such way");
            Ok(())
        }
    }

    #[test]
    fn test_ways_take_turns_and_the_first_round_does_not_count() {
        let mut log = Log::default();
        let seconds = interleave(2, 3, 2, &mut log).unwrap();
        assert!(seconds.len() == 2 && seconds.iter().all(|way| way.len() == 3));
        assert!(seconds.iter().flatten().all(|thing| thing.len() == 2));
        let round =
            [(0, None), (0, Some(0)), (0, Some(1)), (0, Some(2)), (1, None), (1, Some(0)), (1, Some(1)), (1, Some(2))];
        assert_eq!(log.0, round.repeat(3));
        assert!(interleave(10, 1, 1, &mut log).is_err());
    }
}
