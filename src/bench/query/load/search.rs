//! The highest rate that holds, by bisection.

/// The search ends when a rate that does not hold is at most so many times one that does.
pub(super) const WITHIN: f64 = 1.05;
/// The search gives up this many halvings below where it began.
const HALVINGS: u32 = 10;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Highest {
    /// This rate holds, and one that is at most [`WITHIN`] times as high does not.
    Rate(f64),
    /// This rate holds, and higher ones cannot be tried.
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

/// Doubles or halves `start` until one rate holds and one does not, and then halves the gap between their logarithms.
/// `can` tells whether a rate can be tried at all; `holds` tries it.
///
/// # Errors
/// Those of `holds`.
pub(super) fn highest(
    start: f64,
    can: impl Fn(f64) -> bool,
    mut holds: impl FnMut(f64) -> anyhow::Result<bool>,
) -> anyhow::Result<Highest> {
    let (mut good, mut bad);
    if holds(start)? {
        good = start;
        loop {
            let next = 2.0 * good;
            if !can(next) {
                return Ok(Highest::AtLeast(good));
            }
            if !holds(next)? {
                bad = next;
                break;
            }
            good = next;
        }
    } else {
        bad = start;
        let mut halvings = 0;
        loop {
            let next = bad / 2.0;
            if holds(next)? {
                good = next;
                break;
            }
            bad = next;
            halvings += 1;
            if halvings == HALVINGS {
                return Ok(Highest::Below(bad));
            }
        }
    }
    while bad > WITHIN * good {
        let middle = (good * bad).sqrt();
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Highest::Rate(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_the_limit_is_found_from_anywhere() {
        for limit in [0.3, 1.0, 7.7, 123.0, 99_999.0] {
            for start in [limit / 300.0, limit / 2.0, limit, 1.01 * limit, 500.0 * limit] {
                let mut tried = 0;
                let found = highest(
                    start,
                    |_| true,
                    |rate| {
                        tried += 1;
                        Ok(rate <= limit)
                    },
                );
                let Highest::Rate(rate) = found.unwrap() else { panic!("{limit} from {start}") };
                assert!(rate <= limit && limit < WITHIN * rate, "{rate}, not {limit}");
                assert!(tried <= 15, "{tried} rates tried");
            }
        }
    }

    #[test]
    fn test_what_cannot_be_found_is_told() {
        assert_eq!(highest(1.0, |rate| rate < 100.0, |_| Ok(true)).unwrap(), Highest::AtLeast(64.0));
        let none = highest(1024.0, |_| true, |_| Ok(false)).unwrap();
        assert_eq!((none, none.rate()), (Highest::Below(1.0), None));
        assert!(highest(1.0, |_| true, |_| anyhow::bail!("broken")).is_err());
    }
}
