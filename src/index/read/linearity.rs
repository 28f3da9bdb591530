//! How straight lists are: this decides whether codecs and searches by a line pay (Ao et al., PVLDB 4(8), 2011, section
//! 4.3 and table 1).

use super::lengths::{LENGTH_CLASSES, length_class};
use super::lists::{Source, batches};
use super::reader::Index;
use crate::Result;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::index::change::reencode::BATCH;

/// The lists of one class of [`LENGTH_CLASSES`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassLinearity {
    /// How many there are.
    pub lists: u64,
    /// Mean share of a list that a search guided by the line has to read: `(L + R) / length`, the greatest deviations
    /// to either side in positions.
    pub contraction_ratio: f64,
    /// Mean coefficient of determination of docIDs and positions, from 0 to 1.
    pub r_squared: f64,
}

/// Contraction ratio and coefficient of determination of a list of at least two docIDs.
pub fn of_list(docs: &[u32]) -> (f64, f64) {
    let n = docs.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = docs.iter().map(|&doc| f64::from(doc)).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (i, &doc) in docs.iter().enumerate() {
        let (x, y) = (i as f64 - middle, f64::from(doc) - mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    // DocIDs increase, so neither is 0.
    let slope = xy / xx;
    let (mut left, mut right) = (0f64, 0f64);
    for (i, &doc) in docs.iter().enumerate() {
        let deviation = (f64::from(doc) - mean) / slope + middle - i as f64;
        left = left.max(deviation);
        right = right.max(-deviation);
    }
    ((left + right) / n, xy * xy / (xx * yy))
}

impl Index {
    /// How straight the lists of each class of [`LENGTH_CLASSES`] are. Sums are taken in the order of the lists, so any
    /// number of threads gives the same.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`], [`crate::Error::Interrupted`].
    pub fn linearity(&self, means: &Means) -> Result<Vec<ClassLinearity>> {
        let source = Source::new(self, self.codec(None)?, None)?;
        let work = batches(self, BATCH[0])?;
        let mut classes = vec![ClassLinearity::default(); LENGTH_CLASSES.len()];
        let measure = |task: usize| {
            let decoded = source.decode(work[task])?;
            Ok(decoded.iter().map(|(list, docs)| (list.df, of_list(docs))).collect::<Vec<_>>())
        };
        in_order::<_, crate::Error>(work.len(), means, measure, |lists| {
            for (df, (ratio, r_squared)) in lists {
                let class = &mut classes[length_class(df)];
                class.lists += 1;
                class.contraction_ratio += ratio;
                class.r_squared += r_squared;
            }
            Ok(())
        })?;
        for class in &mut classes {
            let lists = class.lists.max(1) as f64;
            class.contraction_ratio /= lists;
            class.r_squared /= lists;
        }
        Ok(classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{Plan, build};

    #[test]
    fn test_straight_and_bent_lists() {
        for step in [1u32, 3, 1000] {
            let (ratio, r_squared) = of_list(&(0..1000).map(|i| 7 + i * step).collect::<Vec<_>>());
            assert!(ratio < 1e-9 && (r_squared - 1.0).abs() < 1e-9, "{ratio} {r_squared}");
        }
        assert_eq!(of_list(&[3, u32::MAX]).1.round(), 1.0);
        // 0, 1, 2, …, 499, and as many far away; a few lines of another language gave the figures
        let bent: Vec<u32> = (0..1000).map(|i| if i < 500 { i } else { 1_000_000 + i }).collect();
        let (ratio, r_squared) = of_list(&bent);
        assert!((r_squared - 0.750_250_582_667_804_8).abs() < 1e-9, "{r_squared}");
        assert!((ratio - 0.665_222_518_764_305_5).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn test_means_do_not_depend_on_threads() {
        let texts: Vec<String> = (1..=300usize)
            .map(|doc| (1..=60).filter(|i| doc * doc % i < 2).map(|i| format!("t{i} ")).collect())
            .collect();
        let texts: Vec<_> = texts.iter().map(|text| ("", "", "", text.as_str())).collect();
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("index");
        build(&target, &texts, &Plan::default()).unwrap();
        let index = Index::open(&target).unwrap();
        let one = index.linearity(&Means::new(1, 0)).unwrap();
        assert_eq!(one, index.linearity(&Means::new(3, 0)).unwrap());
        assert_eq!(one.iter().map(|class| class.lists).sum::<u64>(), index.statistics().lists);
        assert!(one.iter().all(|class| (0.0..=1.0).contains(&class.r_squared) && class.contraction_ratio >= 0.0));
    }
}
