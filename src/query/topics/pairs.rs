//! Pairs of a query and a document, from a file: plain pairs, a run, or judgements.
//!
//! | columns | what | document |
//! |---|---|---|
//! | 2 | `query document` | the second |
//! | 3 | a run of MS MARCO: `query document rank` | the second |
//! | 4 | judgements of TREC: `query iteration document relevance` | the third |
//! | 6 | a run of TREC: `query Q0 document rank score tag` | the third |
//!
//! Columns are parted by spaces and tabs; empty lines are nothing. The first line decides for all.

use super::lines::Lines;
use crate::{Error, Result};
use std::collections::HashMap;
use std::io::Read;

/// The pairs of a file. Holds 4 bytes a pair, and each id once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Ids of queries in the order in which they first come, each with its documents as indexes into [`Self::ids`],
    /// as they come.
    pub queries: Vec<(String, Vec<u32>)>,
    /// External ids of documents in the order in which they first come.
    pub ids: Vec<String>,
}

/// The column of the document, by the number of columns.
fn column(columns: usize) -> Option<usize> {
    match columns {
        2 | 3 => Some(1),
        4 | 6 => Some(2),
        _ => None,
    }
}

impl Pairs {
    /// Reads a file, also one that is gzip. `name` is what errors call it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be read or has no pair, for a line that is none, and for more than 2^32
    /// documents.
    pub fn read<'a>(source: impl Read + Send + 'a, name: &str) -> Result<Self> {
        let bad = |line: u64, why: String| Error::Invalid { what: format!("line {line} of {name}"), why };
        let named = |error: Error| match error {
            Error::Invalid { why, .. } => Error::Invalid { what: name.to_owned(), why },
            error => error,
        };
        let mut lines = Lines::new(source).map_err(named)?;
        let mut pairs = Self::default();
        let (mut queries, mut ids): (HashMap<String, usize>, HashMap<String, u32>) = Default::default();
        let (mut line, mut columns) = (String::new(), None);
        // Lines of a query mostly follow each other.
        let mut last: Option<usize> = None;
        while lines.append_to(&mut line).map_err(named)? {
            let mut fields = [""; 7];
            let count = line.split_whitespace().zip(&mut fields).map(|(field, slot)| *slot = field).count();
            if count == 0 {
                line.clear();
                continue;
            }
            let Some(document) = column(count) else {
                let why = "has neither 2 columns (query, document), nor the 3, 4 or 6 of a run or of judgements";
                return Err(bad(lines.number(), why.to_owned()));
            };
            if *columns.get_or_insert(count) != count {
                let first = columns.unwrap_or_default();
                return Err(bad(lines.number(), format!("has {count} columns, and the first line has {first}")));
            }
            let (query, id) = (fields[0], fields[document]);
            let query = match last.filter(|&last| pairs.queries[last].0 == query) {
                Some(last) => last,
                None => *queries.entry(query.to_owned()).or_insert_with(|| {
                    pairs.queries.push((query.to_owned(), Vec::new()));
                    pairs.queries.len() - 1
                }),
            };
            last = Some(query);
            let place = match ids.get(id) {
                Some(&place) => place,
                None => {
                    let next = u32::try_from(ids.len());
                    let next = next.map_err(|_| bad(lines.number(), "is beyond 2^32 documents".to_owned()))?;
                    pairs.ids.push(id.to_owned());
                    ids.insert(id.to_owned(), next);
                    next
                }
            };
            pairs.queries[query].1.push(place);
            line.clear();
        }
        if pairs.queries.is_empty() {
            return Err(Error::Invalid {
                what: name.to_owned(),
                why: "has no pair of a query and a document".to_owned(),
            });
        }
        Ok(pairs)
    }

    /// How many pairs there are.
    pub fn count(&self) -> usize {
        self.queries.iter().map(|(_, documents)| documents.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Pairs> {
        Pairs::read(text.as_bytes(), "pairs.txt")
    }

    #[test]
    fn test_forms_have_the_same_pairs() {
        let expected = Pairs {
            queries: vec![("7".into(), vec![0, 1, 0]), ("q-8".into(), vec![2, 1])],
            ids: ["d1", "http://a.test/", "d3"].map(String::from).to_vec(),
        };
        let forms = [
            "7 d1\n\n7\thttp://a.test/\nq-8 d3\n7 d1\n  q-8   http://a.test/",
            "7\td1\t1\n7\thttp://a.test/\t2\nq-8\td3\t1\n7\td1\t3\nq-8\thttp://a.test/\t2\n",
            "7 0 d1 1\r\n7 0 http://a.test/ 0\r\nq-8 0 d3 2\r\n7 0 d1 1\r\nq-8 Q0 http://a.test/ -1\r\n",
            "7 Q0 d1 1 9.5 t\n7 Q0 http://a.test/ 2 9 t\nq-8 Q0 d3 1 3 t\n7 Q0 d1 3 8 t\nq-8 Q0 http://a.test/ 2 1 t\n",
        ];
        for form in forms {
            assert_eq!(read(form).unwrap(), expected, "{form}");
        }
        assert_eq!(expected.count(), 5);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, forms[0].as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(Pairs::read(&packed[..], "x").unwrap(), expected);
    }

    #[test]
    fn test_bad_files_say_where() {
        for (text, why) in [
            ("", "pairs.txt: has no pair of a query and a document"),
            ("\n \n", "pairs.txt: has no pair"),
            ("7\n", "line 1 of pairs.txt: has neither 2 columns"),
            ("7 d1\n\n7 Q0 d1 1 2 t\n", "line 3 of pairs.txt: has 6 columns, and the first line has 2"),
            ("7 Q0 d1 1 2 t more\n", "line 1 of pairs.txt: has neither"),
            ("7 0 d1 1 5\n", "line 1 of pairs.txt: has neither"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text:?}: {error}");
        }
        let error = Pairs::read(&[0x1f, 0x8b, 8, 0, 1][..], "x.gz").unwrap_err().to_string();
        assert!(error.contains("x.gz") && error.contains("gzip that does not unpack"), "{error}");
    }

    proptest! {
        #[test]
        fn prop_any_bytes_are_pairs_or_an_error(bytes: Vec<u8>, text in "[a-c 0-9\t\n]{0,200}") {
            let _ = Pairs::read(&bytes[..], "x");
            if let Ok(pairs) = read(&text) {
                prop_assert_eq!(pairs.count(), text.lines().filter(|line| !line.trim().is_empty()).count());
            }
        }
    }
}
