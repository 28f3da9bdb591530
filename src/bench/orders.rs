//! Indexes of one collection side by side: the same documents in several orders.

use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::index::Index;

/// Opens indexes.
///
/// # Errors
/// One cannot be opened, or its counts differ from the first one's.
pub(super) fn open(dirs: &[PathBuf]) -> anyhow::Result<Vec<Index>> {
    let indexes = dirs.iter().map(|dir| Index::open(dir)).collect::<crate::Result<Vec<_>>>()?;
    let counts = |index: &Index| {
        let s = index.statistics();
        [("documents", s.documents), ("terms", s.terms), ("postings", s.postings)]
    };
    for index in indexes.iter().skip(1) {
        for ((what, first), (_, other)) in counts(&indexes[0]).into_iter().zip(counts(index)) {
            let (a, b) = (indexes[0].dir().display(), index.dir().display());
            ensure!(
                first == other,
                "{a} has {first} {what} and {b} has {other}: only indexes of one collection can stand side by side"
            );
        }
    }
    Ok(indexes)
}

/// Names in tables: the order of the documents, or the paths if two have the same order.
pub(super) fn labels(indexes: &[Index]) -> Vec<String> {
    let orders: Vec<&str> = indexes.iter().map(|index| index.manifest().order.as_str()).collect();
    distinct(&orders, &indexes.iter().map(Index::dir).collect::<Vec<_>>())
}

fn distinct(orders: &[&str], dirs: &[&Path]) -> Vec<String> {
    let alone = |order: &str| orders.iter().filter(|other| **other == order).count() == 1;
    let label =
        |(order, dir): (&&str, &&Path)| if alone(order) { (*order).to_owned() } else { dir.display().to_string() };
    orders.iter().zip(dirs).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_indexes_are_told_apart() {
        let dirs = [Path::new("a"), Path::new("b"), Path::new("c")];
        assert_eq!(distinct(&["input", "url", "bp"], &dirs), ["input", "url", "bp"]);
        assert_eq!(distinct(&["input", "url", "input"], &dirs), ["a", "url", "c"]);
    }
}
