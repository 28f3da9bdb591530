//! What moving a document to the other side gains, per term, from a table of logarithms.

/// Units of a bit: gains are integers of `1/UNITS` bits.
pub(super) const UNITS: f64 = 512.0;
/// Degrees up to this have an entry of their own.
const ENTRIES: usize = 1 << 16;

/// A document counts itself as one that stays for `1/2^SELF`. On debdocs a quarter gives the smallest lists: 2.42 bits
/// of logarithms of d-gaps per posting, against 2.44 if it does not count at all and 2.48 if it counts in full.
const SELF: u32 = 2;

/// `f(x−1)` at `x`, where `f(x) = (x+1)·log2(x+2) − x·log2(x+1)` is what one more document of a term costs
/// a side that has `x` others, up to a constant; 0 at 0, where it has no meaning.
///
/// Only additions, multiplications and divisions make it, so that it is the same on every machine.
pub(super) struct Gains(Vec<i16>);

impl Gains {
    pub(super) fn new() -> Self {
        let mut table = Vec::with_capacity(ENTRIES);
        table.push(0);
        let mut log = 0.0; // log2(x)
        for x in 1..ENTRIES {
            // f(x−1) = log2(x+1) + (x−1)·(log2(x+1) − log2(x))
            let step = log2_step(x);
            log += step;
            table.push(((log + (x - 1) as f64 * step) * UNITS + 0.5) as i16);
        }
        Self(table)
    }

    /// The table at `x`. From `ENTRIES` on f grows as the logarithm, by one bit at each doubling.
    #[inline(always)]
    fn at(&self, x: u32) -> i16 {
        match self.0.get(x as usize) {
            Some(&f) => f,
            None => {
                let shift = (u32::BITS - ENTRIES.trailing_zeros()) - x.leading_zeros();
                self.0[(x >> shift) as usize] + shift as i16 * UNITS as i16
            }
        }
    }

    /// What a document gains by leaving the left side, and by leaving the right, for a term that
    /// `left` and `right` documents hold: `f(right) − f(left−1)` and `f(left) − f(right−1)`, but that a quarter of
    /// the second is taken as if the document itself stayed behind. For another one comes back in its
    /// place, and may hold the term too; without this, documents that look for each other change sides past each other.
    #[inline(always)]
    pub(super) fn of(&self, left: u32, right: u32) -> [i16; 2] {
        let (leave_left, stay_left) = (self.at(left), self.at(left + 1));
        let (leave_right, stay_right) = (self.at(right), self.at(right + 1));
        let kept = |leave: i16, stay: i16| leave + ((stay - leave) >> SELF);
        [stay_right - kept(leave_left, stay_left), stay_left - kept(leave_right, stay_right)]
    }
}

/// `log2(x + 1) − log2(x)`, as `2/ln 2 · artanh(1/(2x+1))`.
fn log2_step(x: usize) -> f64 {
    let z = 1.0 / (2 * x + 1) as f64;
    let (mut sum, mut power, mut k) = (0.0, z, 1.0);
    while power / k > 1e-18 {
        sum += power / k;
        power *= z * z;
        k += 2.0;
    }
    sum * 2.0 * std::f64::consts::LOG2_E
}
