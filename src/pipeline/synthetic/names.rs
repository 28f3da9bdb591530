//! Names of synthetic terms and documents.

use std::fmt::Write as _;

/// The name of a term: `t` and its termID, which is its frequency rank.
pub(super) fn term(id: u64) -> String {
    format!("t{id}")
}

/// The numbers below `count` in the byte order of their decimal digits: 0, 1, 10, 100, 101, …, 11, …, 2, …
pub(super) fn in_byte_order(count: u64) -> impl Iterator<Item = u64> {
    let mut next = 0;
    (0..count).map(move |_| {
        let now = next;
        next = if now > 0 && now * 10 < count {
            now * 10
        } else {
            let mut last = now;
            while last % 10 == 9 || last + 1 >= count && last > 0 {
                last /= 10;
            }
            last + 1
        };
        now
    })
}

/// Documents of one bundle, bundles of one folder: about as in GOV2, which has 25,205,179 documents in 27,204 files in
/// 273 folders.
const BUNDLE: u64 = 926;
const FOLDER: u64 = 100;

/// Writes the external id of a document, like those of GOV2: `GX000-00-0000000`.
pub(super) fn document(doc: u64, out: &mut String) {
    let bundle = doc / BUNDLE;
    out.clear();
    // A String takes everything.
    let _ = write!(out, "GX{:03}-{:02}-{:07}", bundle / FOLDER, bundle % FOLDER, doc % BUNDLE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_terms_come_in_byte_order_once_each() {
        for count in [0u64, 1, 2, 9, 10, 11, 19, 20, 21, 99, 100, 101, 110, 1_000, 1_234, 20_001] {
            let mut expected: Vec<String> = (0..count).map(term).collect();
            expected.sort();
            let found: Vec<String> = in_byte_order(count).map(term).collect();
            assert_eq!(found, expected, "{count}");
        }
    }

    #[test]
    fn test_documents_have_names_of_their_own() {
        let mut name = String::new();
        let mut seen = std::collections::HashSet::new();
        for doc in (0..200_000).chain((1 << 32) - 1000..1 << 32) {
            document(doc, &mut name);
            assert!(seen.insert(name.clone()), "{name}");
        }
        document(926 * 100 + 5, &mut name);
        assert_eq!(name, "GX001-00-0000005");
    }
}
