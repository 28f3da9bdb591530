//! Boosted regression trees: numbers of a query → the logarithm of a time.
//!
//! The crate smartcore grows them. They are kept and walked in a form of their own, in which no content of a file can
//! make a walk longer than the file: a node's children stand behind it.

use crate::{Error, Result};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::xgboost::{XGRegressor, XGRegressorParameters};

/// Numbers that a tree looks at.
pub const NUMBERS: usize = 6;
/// Trees of a model.
const TREES: usize = 100;
/// Splits between a root and a leaf at most.
const DEPTH: u16 = 5;
/// Share of what is left that each tree explains.
const RATE: f64 = 0.1;
/// Rows of a leaf at least, where there are enough.
const LEAF: usize = 8;
/// Share of the rows that a tree grows from.
const SHARE: f64 = 0.8;
/// A model with more nodes is none of gamut's.
const MOST_NODES: usize = TREES * (2 << DEPTH);
/// No number of a model is larger.
const MOST: f64 = 1e6;
/// Marks a leaf in a file.
const IS_LEAF: u8 = u8::MAX;

/// A part of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// What the tree adds.
    Leaf(f64),
    /// Up to the threshold the next node goes on, above it node number `above` does.
    Split { number: u8, threshold: f64, above: u32 },
}

/// A sum of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Trees {
    /// What is added to.
    base: f64,
    /// Tree after tree, each node before its children.
    nodes: Vec<Node>,
    roots: Vec<u32>,
}

/// A tree as smartcore prints it.
#[derive(serde::Deserialize)]
struct Grown {
    left: Option<Box<Self>>,
    right: Option<Box<Self>>,
    value: f64,
    threshold: f64,
    split_feature_idx: u64,
}

/// A model as smartcore prints it.
#[derive(serde::Deserialize)]
struct Model {
    regressors: Vec<Grown>,
}

impl Trees {
    /// Learns what is expected of rows of numbers.
    ///
    /// # Errors
    /// [`Error::Invalid`] without rows, or for a number that is none.
    pub fn grown(rows: &[[f64; NUMBERS]], expected: &[f64]) -> Result<Self> {
        let fail = |why: String| Error::Invalid { what: "a model of costs".to_owned(), why };
        let finite = rows.iter().flatten().chain(expected).all(|number| number.is_finite());
        if rows.is_empty() || rows.len() != expected.len() || !finite {
            return Err(fail("needs rows of numbers, and a time for each".to_owned()));
        }
        let base = expected.iter().sum::<f64>() / expected.len() as f64;
        let flat = rows.iter().flatten().copied().collect();
        let matrix = DenseMatrix::new(rows.len(), NUMBERS, flat, false).map_err(|error| fail(error.to_string()))?;
        let parameters = XGRegressorParameters::default()
            .with_base_score(base)
            .with_n_estimators(TREES)
            .with_max_depth(DEPTH)
            .with_learning_rate(RATE)
            .with_min_child_weight(LEAF.min(rows.len() / 20).max(1))
            .with_subsample(SHARE);
        let model = XGRegressor::<f64, f64, _, _>::fit(&matrix, &expected.to_vec(), parameters);
        let model = model.map_err(|error| fail(error.to_string()))?;
        let printed = serde_json::to_value(&model).and_then(serde_json::from_value::<Model>);
        let mut trees = Self { base, nodes: Vec::new(), roots: Vec::new() };
        for tree in printed.map_err(|error| fail(error.to_string()))?.regressors {
            trees.roots.push(trees.nodes.len() as u32);
            trees.add(&tree);
        }
        Ok(trees)
    }

    fn add(&mut self, tree: &Grown) {
        match (&tree.left, &tree.right) {
            (Some(left), Some(right)) => {
                let at = self.nodes.len();
                self.nodes.push(Node::Leaf(0.0));
                self.add(left);
                let above = self.nodes.len() as u32;
                self.add(right);
                self.nodes[at] = Node::Split { number: tree.split_feature_idx as u8, threshold: tree.threshold, above };
            }
            _ => self.nodes.push(Node::Leaf(RATE * tree.value)),
        }
    }

    /// What is expected of a row.
    pub fn expect(&self, row: &[f64; NUMBERS]) -> f64 {
        let tree = |&root: &u32| {
            let mut at = root as usize;
            loop {
                match self.nodes[at] {
                    Node::Leaf(value) => return value,
                    Node::Split { number, threshold, above } => {
                        at = if row[usize::from(number)] <= threshold { at + 1 } else { above as usize };
                    }
                }
            }
        };
        self.base + self.roots.iter().map(tree).sum::<f64>()
    }

    /// Appends the bytes of a file: base, number of trees, and each tree from its root on, what is up to a threshold
    /// first; a node is the number of what it looks at and the threshold, or 255 and what it adds.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.extend(self.base.to_le_bytes());
        out.extend((self.roots.len() as u32).to_le_bytes());
        for node in &self.nodes {
            let (number, value) = match *node {
                Node::Leaf(value) => (IS_LEAF, value),
                Node::Split { number, threshold, .. } => (number, threshold),
            };
            out.push(number);
            out.extend(value.to_le_bytes());
        }
    }

    /// Reads what [`Self::print`] wrote, and returns what comes behind; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes;
        let base = finite(&mut rest)?;
        let (count, behind) = rest.split_first_chunk()?;
        let count = u32::from_le_bytes(*count) as usize;
        rest = behind;
        let mut trees = Self { base, nodes: Vec::new(), roots: Vec::new() };
        if count > TREES {
            return None;
        }
        for _ in 0..count {
            trees.roots.push(trees.nodes.len() as u32);
            // splits whose upper child is still to come
            let mut open = Vec::new();
            loop {
                let (&number, behind) = rest.split_first()?;
                rest = behind;
                let value = finite(&mut rest)?;
                let at = trees.nodes.len();
                if at >= MOST_NODES || open.len() > usize::from(DEPTH) {
                    return None;
                }
                if number != IS_LEAF {
                    if usize::from(number) >= NUMBERS {
                        return None;
                    }
                    open.push(at);
                    trees.nodes.push(Node::Split { number, threshold: value, above: 0 });
                    continue;
                }
                trees.nodes.push(Node::Leaf(value));
                let Some(split) = open.pop() else { break };
                let next = trees.nodes.len() as u32;
                if let Node::Split { above, .. } = &mut trees.nodes[split] {
                    *above = next;
                }
            }
        }
        Some((trees, rest))
    }
}

/// Takes a number off the front. Those of gamut are logarithms; larger ones would not add up.
fn finite(bytes: &mut &[u8]) -> Option<f64> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(f64::from_le_bytes(*first)).filter(|number| number.abs() <= MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Rng;

    fn rows(count: usize) -> Vec<[f64; NUMBERS]> {
        let mut random = Rng::new(7, 0, 0);
        (0..count).map(|_| std::array::from_fn(|i| (random.below(1000) as f64) / 100.0 * (i as f64 + 1.0))).collect()
    }

    fn truth(row: &[f64; NUMBERS]) -> f64 {
        (1.0 + row[0]).ln() + 0.3 * row[2] - if row[5] > 30.0 { 2.0 } else { 0.0 }
    }

    /// The trees are those of the crate: each walk ends where its own does.
    #[test]
    fn test_trees_expect_what_the_crate_predicts() {
        let rows = rows(500);
        let expected: Vec<f64> = rows.iter().map(truth).collect();
        let trees = Trees::grown(&rows, &expected).unwrap();
        let matrix = DenseMatrix::new(500, NUMBERS, rows.iter().flatten().copied().collect(), false).unwrap();
        let base = expected.iter().sum::<f64>() / 500.0;
        let parameters = XGRegressorParameters::default()
            .with_base_score(base)
            .with_n_estimators(TREES)
            .with_max_depth(DEPTH)
            .with_learning_rate(RATE)
            .with_min_child_weight(LEAF)
            .with_subsample(SHARE);
        let model = XGRegressor::<f64, f64, _, _>::fit(&matrix, &expected, parameters).unwrap();
        for (row, predicted) in rows.iter().zip(model.predict(&matrix).unwrap()) {
            assert!((trees.expect(row) - predicted).abs() < 1e-9);
        }
    }

    #[test]
    fn test_trees_learn_more_than_the_mean() {
        let (all, mut mean, mut learned) = (rows(1500), 0.0, 0.0);
        let expected: Vec<f64> = all.iter().map(truth).collect();
        let trees = Trees::grown(&all[..1000], &expected[..1000]).unwrap();
        let average = expected[..1000].iter().sum::<f64>() / 1000.0;
        for (row, expected) in all.iter().zip(&expected).skip(1000) {
            mean += (average - expected).abs();
            learned += (trees.expect(row) - expected).abs();
        }
        assert!(learned < mean / 8.0, "{learned} against {mean}");
        // few rows, and rows that are all the same
        assert_eq!(Trees::grown(&all[..1], &[3.0]).unwrap().expect(&all[5]), 3.0);
        assert!((Trees::grown(&[all[0]; 50], &[2.0; 50]).unwrap().expect(&all[1]) - 2.0).abs() < 1e-9);
        assert!(Trees::grown(&[], &[]).is_err());
        assert!(Trees::grown(&all[..1], &[f64::NAN]).is_err());
        assert!(Trees::grown(&all[..2], &[1.0]).is_err());
    }

    #[test]
    fn test_bytes_come_back_and_nothing_else_does() {
        let rows = rows(60);
        let expected: Vec<f64> = rows.iter().map(truth).collect();
        let trees = Trees::grown(&rows, &expected).unwrap();
        let mut bytes = Vec::new();
        trees.print(&mut bytes);
        bytes.push(7);
        assert_eq!(Trees::parse(&bytes), Some((trees.clone(), &[7u8][..])));
        for end in 0..bytes.len() - 1 {
            assert_eq!(Trees::parse(&bytes[..end]), None, "{end} bytes");
        }
        // whatever the bytes are, reading and walking them ends
        let mut random = Rng::new(3, 0, 0);
        for _ in 0..20_000 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] = random.below(256) as u8;
            }
            if let Some((trees, _)) = Trees::parse(&damaged) {
                assert!(trees.expect(&rows[0]).is_finite());
            }
        }
        let header = |count: u32| [&0f64.to_le_bytes()[..], &count.to_le_bytes()].concat();
        let split = [&[0u8][..], &0f64.to_le_bytes()].concat();
        let many = [header(1), split.repeat(MOST_NODES + 9)].concat();
        assert_eq!(Trees::parse(&many), None, "a tree without an end");
        assert_eq!(Trees::parse(&header(u32::MAX)), None);
        let odd = [&header(1)[..], &[6u8], &0f64.to_le_bytes()].concat();
        assert_eq!(Trees::parse(&odd), None, "a seventh number");
        let nan = [&header(1)[..], &[IS_LEAF], &f64::NAN.to_le_bytes()].concat();
        assert_eq!(Trees::parse(&nan), None);
    }
}
