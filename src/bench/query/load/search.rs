//! The highest rate that holds, by bisection.

/// The search ends when a rate that does not hold is at most so many times one that does.
pub(super) const WITHIN: f64 = 1.05;
/// The first rate that is tried beside a guess is so many times as high or low. Each further one is further away by the
/// square of that, and at most by [`FURTHEST`]: a guess is mostly good.
const NEAR: f64 = WITHIN * WITHIN;
/// As of [`NEAR`].
const FURTHEST: f64 = 4.0;
/// The search gives up so far below where it began.
const LEAST: f64 = 1.0 / 4096.0;

/// Rates are roots of products of roots.
const ROUNDED: f64 = 1.0 + 1e-9;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Highest {
    /// This rate holds, and one that is at most [`WITHIN`] times as high does not.
    Rate(f64),
    /// This rate holds, and one that is at most [`WITHIN`] times as high cannot be tried.
    AtLeast(f64),
    /// Not even this rate holds, the lowest that was tried.
    Below(f64),
}

impl Highest {
    /// The highest rate that holds, if one does.
    pub(super) fn rate(self) -> Option<f64> {
        match self {
            Self::Rate(rate) | Self::AtLeast(rate) => Some(rate),
            Self::Below(_) => None,
        }
    }
}

/// What a search does with a rate.
pub(super) trait Tries {
    /// Whether it can be tried at all.
    fn can(&self, rate: f64) -> bool;

    /// Tries it once.
    ///
    /// # Errors
    /// Those of what is tried.
    fn holds(&mut self, rate: f64) -> anyhow::Result<bool>;

    /// Tries one that has held again, as often as it has to hold.
    ///
    /// # Errors
    /// Those of what is tried.
    fn holds_again(&mut self, rate: f64) -> anyhow::Result<bool>;
}

/// Goes up or down from `start` until one rate holds and one does not, or cannot be tried, and then halves the gap
/// between their logarithms. What is found is tried again; if it does not hold then, the next lower one is.
///
/// # Errors
/// Those of [`Tries`].
pub(super) fn highest(start: f64, tries: &mut impl Tries) -> anyhow::Result<Highest> {
    let farther = |step: f64| (step * step).min(FURTHEST);
    let (mut good, mut bad, mut tried) = (start, start, true);
    let mut step = NEAR;
    if tries.holds(start)? {
        loop {
            bad = step * good;
            tried = tries.can(bad);
            if !tried || !tries.holds(bad)? {
                break;
            }
            (good, step) = (bad, farther(step));
        }
    } else {
        loop {
            good = bad / step;
            if good < LEAST * start {
                return Ok(Highest::Below(bad));
            }
            if tries.holds(good)? {
                break;
            }
            (bad, step) = (good, farther(step));
        }
    }
    while bad > ROUNDED * WITHIN * good {
        let middle = (good * bad).sqrt();
        if !tries.can(middle) {
            (bad, tried) = (middle, false);
        } else if tries.holds(middle)? {
            good = middle;
        } else {
            (bad, tried) = (middle, true);
        }
    }
    while !tries.holds_again(good)? {
        tried = true;
        loop {
            bad = good;
            good = bad / WITHIN;
            if good < LEAST * start {
                return Ok(Highest::Below(bad));
            }
            if tries.holds(good)? {
                break;
            }
        }
    }
    Ok(if tried { Highest::Rate(good) } else { Highest::AtLeast(good) })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Rates that hold the first time and the next times, and how many were tried.
    pub(in super::super) struct Made<C, H, A> {
        pub can: C,
        pub holds: H,
        pub again: A,
        pub tried: usize,
    }

    impl<C: Fn(f64) -> bool, H: FnMut(f64) -> anyhow::Result<bool>, A: FnMut(f64) -> bool> Tries for Made<C, H, A> {
        fn can(&self, rate: f64) -> bool {
            (self.can)(rate)
        }

        fn holds(&mut self, rate: f64) -> anyhow::Result<bool> {
            self.tried += 1;
            (self.holds)(rate)
        }

        fn holds_again(&mut self, rate: f64) -> anyhow::Result<bool> {
            Ok((self.again)(rate))
        }
    }

    #[test]
    fn test_the_limit_is_found_from_anywhere() {
        for limit in [0.3, 1.0, 7.7, 123.0, 99_999.0] {
            for start in [limit / 300.0, limit / 2.0, limit, 1.01 * limit, 1.2 * limit, 500.0 * limit] {
                let mut made = Made { can: |_| true, holds: |rate| Ok(rate <= limit), again: |_| true, tried: 0 };
                let found = highest(start, &mut made).unwrap();
                let Highest::Rate(rate) = found else { panic!("{limit} from {start}") };
                assert!(rate <= limit && limit < ROUNDED * WITHIN * rate, "{rate}, not {limit}");
                let near = (0.8..1.25).contains(&(start / limit));
                assert!(made.tried <= if near { 5 } else { 15 }, "{} rates tried from {start}", made.tried);
            }
        }
    }

    #[test]
    fn test_a_rate_that_does_not_hold_again_is_too_high() {
        for limit in [55.0, 70.0, 99.0, 101.0] {
            let mut made =
                Made { can: |_| true, holds: |rate| Ok(rate <= 100.0), again: |rate| rate <= limit, tried: 0 };
            let Highest::Rate(rate) = highest(90.0, &mut made).unwrap() else { panic!("{limit}") };
            let limit: f64 = if limit > 100.0 { 100.0 } else { limit };
            assert!(rate <= limit && limit < ROUNDED * WITHIN * rate, "{rate}, not {limit}");
        }
        let mut never = Made { can: |rate| rate < 9.0, holds: |_| Ok(true), again: |_| false, tried: 0 };
        assert!(matches!(highest(1.0, &mut never).unwrap(), Highest::Below(rate) if rate < 0.01));
    }

    #[test]
    fn test_what_cannot_be_found_is_told() {
        let can = |rate: f64| rate < 100.0;
        let all = highest(1.0, &mut Made { can, holds: |_| Ok(true), again: |_| true, tried: 0 }).unwrap();
        assert!(matches!(all, Highest::AtLeast(rate) if rate < 100.0 && rate > 95.0), "{all:?}");
        // one that cannot be tried is no bound if a lower one does not hold
        let found = highest(60.0, &mut Made { can, holds: |rate| Ok(rate < 80.0), again: |_| true, tried: 0 }).unwrap();
        assert!(matches!(found, Highest::Rate(rate) if rate < 80.0 && rate > 76.0), "{found:?}");
        let none = highest(1024.0, &mut Made { can, holds: |_| Ok(false), again: |_| true, tried: 0 }).unwrap();
        assert!(matches!(none, Highest::Below(rate) if (1024.0 * LEAST..4.0).contains(&rate)), "{none:?}");
        assert_eq!(none.rate(), None);
        let broken = |_| anyhow::bail!("broken");
        assert!(highest(1.0, &mut Made { can, holds: broken, again: |_| true, tried: 0 }).is_err());
    }
}
