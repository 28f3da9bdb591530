//! Records that did not become documents: counts by kind, and the first that are damage.

use std::collections::BTreeMap;
use std::path::Path;

use crate::corpus::{Skip, SkipKind};

/// A loss, as the report lists it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Loss {
    /// The file; what is no UTF-8 in its name is replaced.
    pub file: String,
    /// Byte offset in the file.
    pub offset: u64,
    /// What kind.
    pub kind: SkipKind,
    /// Details.
    pub detail: String,
}

/// Losses listed one by one; beyond that they are only counted.
pub const LISTED: usize = 10_000;

/// Records that did not become documents.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// Count by kind.
    pub by_kind: BTreeMap<SkipKind, u64>,
    /// The first 10,000 that are damage or warnings, in input order.
    pub losses: Vec<Loss>,
}

/// Records that did not become documents, of one file. There may be as many as lines, and not more are kept than a
/// report lists.
#[derive(Clone, Debug, Default)]
pub struct Skips {
    by_kind: BTreeMap<SkipKind, u64>,
    /// The first that are more than mere non-documents.
    listed: Vec<Skip>,
}

impl Skips {
    /// Counts one, and keeps it if a report may list it.
    pub fn add(&mut self, skip: Skip) {
        *self.by_kind.entry(skip.kind).or_default() += 1;
        let listed = skip.kind.is_damage() || skip.kind == SkipKind::BadCoding;
        if listed && self.listed.len() < LISTED {
            self.listed.push(skip);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.by_kind.clear();
        self.listed.clear();
    }
}

impl From<Skip> for Skips {
    fn from(skip: Skip) -> Self {
        let mut skips = Self::default();
        skips.add(skip);
        skips
    }
}

impl Skipped {
    /// Adds those of a file, or of a part of it.
    pub fn add(&mut self, file: &Path, skips: &Skips) {
        for (&kind, count) in &skips.by_kind {
            *self.by_kind.entry(kind).or_default() += count;
        }
        let room = LISTED - self.losses.len();
        self.losses.extend(skips.listed.iter().take(room).map(|skip| Loss {
            file: file.to_string_lossy().into_owned(),
            offset: skip.offset,
            kind: skip.kind,
            detail: skip.detail.clone(),
        }));
    }

    /// How many are damage.
    pub fn damage(&self) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| kind.is_damage()).map(|(_, n)| n).sum()
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_no_more_losses_are_kept_than_are_listed() {
        let (file, mut all) = (Path::new("crawl"), Skipped::default());
        let mut skips = Skips::default();
        for batch in 0..3 {
            for offset in 0..6_000 {
                skips.add(Skip { kind: SkipKind::BadSyntax, offset, detail: format!("batch {batch}") });
                skips.add(Skip { kind: SkipKind::NotADocument, offset, detail: String::new() });
            }
            all.add(file, &skips);
            skips.clear();
        }
        assert_eq!((all.total(), all.damage()), (36_000, 18_000));
        assert_eq!(all.losses.len(), LISTED);
        let expected = (0..10_000).map(|i| (i % 6_000, format!("batch {}", i / 6_000)));
        assert!(all.losses.iter().map(|loss| (loss.offset, loss.detail.clone())).eq(expected));
        // one batch with more than that keeps the first
        (0..20_000).for_each(|offset| {
            skips.add(Skip { kind: SkipKind::BadSyntax, offset, detail: String::new() });
        });
        assert_eq!((skips.listed.len(), skips.by_kind[&SkipKind::BadSyntax]), (LISTED, 20_000));
    }
}
