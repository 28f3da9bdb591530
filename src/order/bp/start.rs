//! The order that the bisection starts from: the documents' own, or that of their URLs.
//!
//! Pages of one site and one directory share words, so that the order of URLs may be a better start than that of a
//! crawl. Whether it is, and whether a start is so good that the first pass would be wasted on it, a sample of the
//! lists tells: the gaps of its docIDs are compared with those of a shuffle.

use rayon::prelude::*;

use crate::Result;
use crate::base::bits::bits_of;
use crate::base::means::Means;
use crate::order::url::Keys;
use crate::order::{Documents, Permutation};

/// The most lists of a sample,
const SAMPLE: usize = 512;
/// each of so many documents or more: gaps of a short list say little.
const LEAST_DF: u32 = 16;

/// A start is near if its gaps take less than this share of the bits of a shuffle's. On a crawl of Debian's
/// documentation they take 0.5 of them by URL, and all of them in the order of the crawl.
const NEAR: (u64, u64) = (7, 8);

/// The order that the bisection starts from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// All documents.
    pub old_of_new: Vec<u32>,
    /// Whether documents that share terms lie near each other.
    pub near: bool,
}

impl Start {
    /// The better one of both orders. `lists` are those of [`Documents::lists`].
    ///
    /// # Errors
    /// Those of [`Documents`]; [`crate::Error::Interrupted`].
    pub(super) fn choose(documents: &dyn Documents, lists: &[(u32, u32)], means: &Means) -> Result<Self> {
        let count = documents.count();
        let mut keys = Keys::default();
        documents.each_url(means, &mut |url| keys.push(url))?;
        let by_url = keys.sorted();
        drop(keys);
        let sample = sample(documents, lists)?;
        let (present, shuffle) = (Permutation::identity(count), Permutation::random(count, 0));
        let shuffled = bits(&sample, &shuffle);
        let (least, best) = std::iter::once(present)
            .chain(by_url)
            .map(|order| (bits(&sample, &order), order))
            // the documents' own order if both are alike
            .min_by_key(|&(bits, _)| bits)
            .expect("an order");
        Ok(Self { old_of_new: best.old_of_new(), near: least * NEAR.1 < shuffled * NEAR.0 })
    }
}

/// The docIDs of lists from all over the index.
fn sample(documents: &dyn Documents, lists: &[(u32, u32)]) -> Result<Vec<Vec<u32>>> {
    let long: Vec<u32> = lists.iter().filter(|&&(_, df)| df >= LEAST_DF).map(|&(list, _)| list).collect();
    let some = long.par_iter().step_by(long.len().div_ceil(SAMPLE).max(1));
    some.map(|&list| {
        let mut docs = Vec::new();
        documents.read(list, &mut docs)?;
        docs.retain(|&doc| doc < documents.count());
        Ok(docs)
    })
    .collect()
}

/// The bits of all gaps between docIDs in an order.
fn bits(lists: &[Vec<u32>], order: &Permutation) -> u64 {
    let of_list = |list: &Vec<u32>| -> u64 {
        let mut docs: Vec<u32> = list.iter().map(|&doc| order.new_of_old()[doc as usize]).collect();
        docs.sort_unstable();
        docs.windows(2).map(|pair| u64::from(bits_of(pair[1] - pair[0]))).sum()
    };
    lists.par_iter().map(of_list).sum()
}

#[cfg(test)]
mod tests {
    use super::super::BP;
    use super::*;
    use crate::base::params::Settings;
    use std::ops::RangeInclusive;

    /// Documents with the lists and URLs that they are made of.
    struct Crawl {
        urls: Vec<String>,
        lists: Vec<Vec<u32>>,
    }

    impl Crawl {
        /// Sites of `size` documents; each site has words of its own, which most of its documents have. `place` gives a
        /// document's docID, and `url` its URL.
        fn new(sites: u32, size: u32, place: &Permutation, url: impl Fn(u32) -> String) -> Self {
            let (count, place) = (sites * size, place.new_of_old());
            let mut urls = vec![String::new(); count as usize];
            (0..count).for_each(|document| urls[place[document as usize] as usize] = url(document));
            let list = |word: u32| {
                let of_word =
                    (0..count).filter(|&document| document / size == word / 8 && !(document + word).is_multiple_of(7));
                let mut docs: Vec<u32> = of_word.map(|document| place[document as usize]).collect();
                docs.sort_unstable();
                docs
            };
            Self { urls, lists: (0..sites * 8).map(list).collect() }
        }

        fn start(&self) -> Start {
            Start::choose(self, &self.lists(0..=u32::MAX).unwrap(), &Means::default()).unwrap()
        }
    }

    impl Documents for Crawl {
        fn count(&self) -> u32 {
            self.urls.len() as u32
        }
        fn order(&self) -> &str {
            "input"
        }
        fn input_places(&self) -> Option<&[u32]> {
            None
        }
        fn each_url(&self, _: &Means, visit: &mut dyn FnMut(&str)) -> Result<()> {
            self.urls.iter().for_each(|url| visit(url));
            Ok(())
        }
        fn ranks(&self) -> Option<&[f32]> {
            None
        }
        fn lists(&self, documents: RangeInclusive<u32>) -> Result<Vec<(u32, u32)>> {
            let all = (0..).zip(self.lists.iter().map(|list| list.len() as u32));
            Ok(all.filter(|(_, df)| documents.contains(df)).collect())
        }
        fn read(&self, list: u32, out: &mut Vec<u32>) -> Result<()> {
            out.extend_from_slice(&self.lists[list as usize]);
            Ok(())
        }
    }

    fn by_site(document: u32) -> String {
        format!("http://site{:03}.org/{document:04}", document / 50)
    }

    #[test]
    fn test_the_better_order_and_whether_it_is_near() {
        let (sites, size) = (40, 50);
        let (plain, mixed) = (Permutation::identity(sites * size), Permutation::random(sites * size, 9));
        let anywhere = |document: u32| format!("http://x.org/{:04}", mixed.new_of_old()[document as usize]);
        let none = |_: u32| "an id".to_owned();
        let start = |place, url: &dyn Fn(u32) -> String| Crawl::new(sites, size, place, url).start();
        let present = |near| Start { old_of_new: (0..sites * size).collect(), near };
        // shuffled documents come back to where they were
        assert_eq!(start(&mixed, &by_site), Start { old_of_new: mixed.new_of_old().to_vec(), near: true });
        assert_eq!(start(&plain, &by_site), present(true));
        assert_eq!(start(&plain, &anywhere), present(true));
        assert_eq!(start(&plain, &none), present(true));
        assert_eq!(start(&mixed, &none), present(false));
        // neither order is near
        let other = Permutation::random(sites * size, 4);
        assert!(!start(&mixed, &|document| format!("http://x.org/{:04}", other.new_of_old()[document as usize])).near);
        let empty = Crawl { urls: Vec::new(), lists: Vec::new() };
        assert_eq!(empty.start(), Start { old_of_new: Vec::new(), near: false });
    }

    /// Documents in any order come out as those that stand in the order of their URLs already.
    #[test]
    fn test_the_bisection_starts_from_it() {
        let (sites, size) = (24, 50);
        let settings = Settings::read(BP.params, "", "").unwrap();
        let mixed = Permutation::random(sites * size, 9);
        let names = |place: &Permutation| -> Vec<String> {
            let documents = Crawl::new(sites, size, place, by_site);
            let order = (BP.make)(&settings, &documents, &Means::new(2, 1 << 30)).unwrap();
            order.old_of_new().into_iter().map(|old| documents.urls[old as usize].clone()).collect()
        };
        let names = [&mixed, &Permutation::identity(sites * size)].map(names);
        assert_eq!(names[0], names[1]);
        assert_eq!(names[0].iter().collect::<std::collections::BTreeSet<_>>().len(), 1200);
    }
}
