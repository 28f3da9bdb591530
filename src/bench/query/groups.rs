//! Similar queries: by number of terms (Griffin, figure 14), by length of the shortest list, and by the ratio of the
//! longest list to it (Griffin, figure 8).

use crate::index::read::lengths::{class_name, length_class};
use crate::query::Plan;

/// The features of a query that decide its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Distinct terms, unknown ones included.
    pub(super) terms: usize,
    /// Postings of the shortest and of the longest list; `None` if a term is unknown or there is no term.
    pub(super) lists: Option<(u32, u32)>,
}

/// How queries are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Terms,
    Shortest,
    Ratio,
}

/// All ways, with their names in tables and files.
pub(super) const WAYS: [(By, &str, &str); 3] = [
    (By::Terms, "terms", "by number of terms"),
    (By::Shortest, "shortest", "by postings of the shortest list"),
    (By::Ratio, "ratio", "by postings of the longest list over those of the shortest"),
];

/// So many terms or more are one group.
const MANY_TERMS: usize = 7;
/// So high a ratio or higher is one group, as a power of two.
const HIGH_RATIO: u32 = 10;

impl Shape {
    pub(super) fn of(plan: &Plan) -> Self {
        let lens = || plan.terms.iter().map(|term| term.info.df);
        let lists = lens().min().zip(lens().max()).filter(|_| plan.missing == 0);
        Self { terms: plan.terms.len() + plan.missing, lists }
    }

    /// The number and the name of its group, if it is in one.
    pub(super) fn group(&self, by: By) -> Option<(usize, String)> {
        match by {
            By::Terms => match self.terms {
                0 => None,
                n if n < MANY_TERMS => Some((n, n.to_string())),
                _ => Some((MANY_TERMS, format!("{MANY_TERMS}+"))),
            },
            By::Shortest => self.lists.map(|(shortest, _)| match shortest {
                0 | 1 => (0, "1".to_owned()),
                _ => (1 + length_class(shortest), class_name(length_class(shortest))),
            }),
            By::Ratio => self.lists.filter(|_| self.terms > 1).map(|(shortest, longest)| {
                match (longest / shortest.max(1)).max(1).ilog2() {
                    n if n < HIGH_RATIO => (n as usize, format!("{}-{}", 1 << n, 2 << n)),
                    _ => (HIGH_RATIO as usize, format!("{}+", 1 << HIGH_RATIO)),
                }
            }),
        }
    }
}

/// The groups that occur, in order: their names, and the numbers of their queries.
pub(super) fn groups(shapes: &[Shape], by: By) -> Vec<(String, Vec<usize>)> {
    let mut found = std::collections::BTreeMap::<usize, (String, Vec<usize>)>::new();
    for (query, shape) in shapes.iter().enumerate() {
        if let Some((number, name)) = shape.group(by) {
            found.entry(number).or_insert_with(|| (name, Vec::new())).1.push(query);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(terms: usize, shortest: u32, longest: u32) -> Shape {
        Shape { terms, lists: Some((shortest, longest)) }
    }

    #[test]
    fn test_groups_by_terms_lists_and_ratio() {
        let shapes = [
            shape(2, 100, 199),
            shape(1, 1, 1),
            shape(9, 100, 200),
            shape(7, 3, 4_000_000_000),
            Shape { terms: 2, lists: None },
            Shape { terms: 0, lists: None },
        ];
        let named = |by| -> Vec<(String, Vec<usize>)> { groups(&shapes, by) };
        let expect = |groups: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
            groups.iter().map(|(name, queries)| ((*name).to_owned(), queries.to_vec())).collect()
        };
        assert_eq!(named(By::Terms), expect(&[("1", &[1]), ("2", &[0, 4]), ("7+", &[2, 3])]));
        assert_eq!(named(By::Shortest), expect(&[("1", &[1]), ("2-7", &[3]), ("32-127", &[0, 2])]));
        assert_eq!(named(By::Ratio), expect(&[("1-2", &[0]), ("2-4", &[2]), ("1024+", &[3])]));
        assert_eq!(shape(2, 1, 1023).group(By::Ratio), Some((9, "512-1024".to_owned())));
        assert_eq!(shape(2, 1, 1024).group(By::Ratio), Some((10, "1024+".to_owned())));
    }

    #[test]
    fn test_every_query_is_in_one_group_at_most() {
        let shapes: Vec<Shape> = (1..500u32).map(|i| shape(i as usize % 12, i, i * i)).collect();
        for (by, ..) in WAYS {
            let mut queries: Vec<usize> = groups(&shapes, by).into_iter().flat_map(|group| group.1).collect();
            queries.sort_unstable();
            assert!(queries.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(queries.len() > 400);
        }
    }
}
