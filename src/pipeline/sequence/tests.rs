//! The sequencer against numbering by hand.

use std::collections::BTreeMap;

use super::*;
use crate::pipeline::batch::BatchDoc;
use crate::pipeline::run::unpack;
use crate::pipeline::terms::LocalTerms;
use proptest::prelude::*;

/// Makes batches as a worker does.
struct Maker {
    terms: LocalTerms,
    number: usize,
    numbers: Numbers,
    resets: u32,
}

impl Maker {
    fn new(number: usize) -> Self {
        Self { terms: LocalTerms::new(1 << 12), number, numbers: Numbers::default(), resets: 0 }
    }

    fn batch(&mut self, documents: &[Vec<String>], reset: bool) -> Batch {
        let mut batch = Batch { worker: self.number, reset, ..Batch::default() };
        for (first, ids) in self.numbers.take(self.resets) {
            self.terms.learn(first, &ids);
        }
        if reset {
            self.terms.reset();
            self.resets += 1;
        }
        for tokens in documents {
            self.terms.begin_document();
            let first_new = batch.new_terms.len();
            for token in tokens {
                self.terms.count(token.as_bytes(), &mut batch.postings, &mut batch.new_terms);
            }
            self.terms.end_document(&mut batch.postings, &mut batch.new_terms);
            batch.new_terms.end_document(first_new);
            batch.docs.push(BatchDoc {
                postings_end: batch.postings.len() as u32,
                len: tokens.len() as u32,
                name_ends: [0; 3],
            });
        }
        batch
    }
}

/// Postings by (term, docID), terms numbered by their first documents, and in byte order within one.
fn by_hand(documents: &[Vec<String>]) -> (Vec<String>, BTreeMap<(u32, u32), u32>) {
    let (mut terms, mut postings): (Vec<String>, BTreeMap<(u32, u32), u32>) = Default::default();
    for (doc, tokens) in documents.iter().enumerate() {
        let mut new: Vec<&String> = tokens.iter().filter(|token| !terms.contains(token)).collect();
        new.sort();
        new.dedup();
        terms.extend(new.into_iter().cloned());
        for token in tokens {
            let term = terms.iter().position(|t| t == token).unwrap();
            *postings.entry((term as u32, doc as u32)).or_default() += 1;
        }
    }
    (terms, postings)
}

/// One batch of a plan: its documents, its worker, whether the worker forgets first, whether the
/// batch is thrown away.
type Planned = (Vec<Vec<String>>, usize, bool, bool);

fn check(plan: &[Planned], sizes: BlockSizes, new_block: fn() -> Block) -> Result<(), TestCaseError> {
    let mut makers: Vec<Maker> = (0..3).map(Maker::new).collect();
    let mut sequencer = Sequencer::new(3, sizes, new_block());
    let mut blocks = Vec::new();
    let mut kept = Vec::new();
    for (documents, worker, reset, discard) in plan {
        let mut batch = makers[*worker].batch(documents, *reset);
        if *worker == 2 {
            sequencer.dictionary().find_all(&mut batch.new_terms);
        }
        sequencer.learn(&batch);
        if *discard {
            sequencer.discard(&batch);
        } else {
            kept.extend(documents.iter().cloned());
            let mut exchange = |block: Block| {
                blocks.push(block);
                Ok(new_block())
            };
            sequencer.accept(&batch, &mut exchange).unwrap();
            // some are told, and some are not told yet
            if documents.len() != 2 {
                sequencer.tell(&batch, &makers[*worker].numbers);
            }
            if documents.len() == 3 && sequencer.open_block().1 > 0 {
                sequencer.hand_on(&mut exchange).unwrap();
                prop_assert_eq!(sequencer.open_block(), (blocks.len(), 0));
            }
        }
    }
    prop_assert_eq!(sequencer.documents(), kept.len() as u64);
    if sequencer.block().lists.is_none() {
        let before: usize = blocks.iter().map(Block::len).sum();
        prop_assert_eq!(sequencer.used().1, sizes.behind(before as u64));
    }
    let (dictionary, last) = sequencer.finish();
    blocks.push(last);
    let (terms, postings) = by_hand(&kept);
    let numbered: Vec<String> =
        (0..dictionary.len() as u32).map(|id| String::from_utf8(dictionary.term(id).to_vec()).unwrap()).collect();
    prop_assert_eq!(numbered, terms);
    let mut got: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut before = 0;
    for (i, block) in blocks.iter().enumerate() {
        prop_assert!(block.keys.len() <= sizes.behind(before));
        before += block.len() as u64;
        prop_assert!(block.is_empty() || block.number == i, "block {} is called {}", i, block.number);
        let keys = block.lists.as_ref().map_or_else(|| block.keys.clone(), |lists| lists.keys().collect());
        prop_assert_eq!(keys.len(), block.len());
        for key in keys {
            let (term, doc, tf) = unpack(key);
            prop_assert!((1..=255).contains(&tf));
            *got.entry((term, block.first_doc + doc)).or_default() += tf;
        }
    }
    prop_assert_eq!(got, postings);
    Ok(())
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-e]", 2 => "[a-z]{2}", 1 => "[a-z]{18,20}"]
}

fn documents() -> impl Strategy<Value = Vec<Vec<String>>> {
    let short = prop::collection::vec(token(), 0..12);
    let repeated = (token(), 250usize..800).prop_map(|(t, n)| vec![t; n]);
    prop::collection::vec(prop_oneof![9 => short, 1 => repeated], 0..6)
}

proptest! {
    #[test]
    fn numbers_as_by_hand(
        plan in prop::collection::vec((documents(), 0usize..3, prop::bool::weighted(0.1), prop::bool::weighted(0.2)), 0..14),
        block_keys in 2usize..60,
    ) {
        check(&plan, one_size(block_keys), Block::default)?;
        check(&plan, BlockSizes { first: block_keys / 2, most: block_keys }, Block::default)?;
        // of these, some end in the middle of a document
        check(&plan, one_size(block_keys), || Block::of_lists(300))?;
    }
}

/// Blocks that do not grow.
fn one_size(keys: usize) -> BlockSizes {
    BlockSizes { first: keys, most: keys }
}

#[test]
fn blocks_grow_with_the_keys_before_them() {
    let sizes = BlockSizes { first: 64, most: 1000 };
    for (keys, size) in
        [(0, 64), (16 * 127, 64), (16 * 128, 128), (16 * 256 - 1, 128), (16 * 512, 512), (1 << 60, 1000)]
    {
        assert_eq!(sizes.behind(keys), size, "{keys}");
    }
    // a large build has few more runs than one of large blocks alone has
    let sizes = BlockSizes { first: 1 << 21, most: 1 << 25 };
    let (mut keys, mut runs) = (0u64, 0);
    while keys < 7_000_000_000 {
        keys += sizes.behind(keys) as u64;
        runs += 1;
    }
    assert!((209..280).contains(&runs), "{runs}");
    assert_eq!(one_size(5000).behind(1 << 60), 5000);
}

#[test]
fn sizes_that_come_later_hold_for_the_open_block() {
    for (sizes, expected) in [
        // it goes on to fill
        (one_size(60), vec![60, 40]),
        // it has what it has, and the next ones are smaller
        (one_size(7), vec![20, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 3]),
        (one_size(32), vec![32, 32, 32, 4]),
    ] {
        let mut maker = Maker::new(0);
        let mut sequencer = Sequencer::new(1, one_size(32), Block::default());
        let mut blocks = Vec::new();
        for number in 0..100 {
            if number == 20 {
                sequencer.resize(sizes);
            }
            let batch = maker.batch(&[vec!["word".to_owned()]], false);
            sequencer.learn(&batch);
            let mut exchange = |block: Block| {
                blocks.push(block.len());
                Ok(Block::default())
            };
            sequencer.accept(&batch, &mut exchange).unwrap();
            // again says nothing new
            sequencer.resize(sequencer.sizes);
        }
        blocks.push(sequencer.finish().1.len());
        assert_eq!(blocks, expected, "{sizes:?}");
    }
}

#[test]
fn a_block_ends_where_its_documents_no_longer_fit_24_bits() {
    let mut maker = Maker::new(0);
    let mut sequencer = Sequencer::new(1, one_size(1 << 10), Block::default());
    let word = vec![vec!["word".to_owned()]];
    let mut full = Vec::new();
    let mut give = |sequencer: &mut Sequencer, batch: Batch| {
        sequencer.learn(&batch);
        let mut exchange = |block: Block| {
            full.push(block);
            Ok(Block::default())
        };
        sequencer.accept(&batch, &mut exchange).unwrap();
    };
    give(&mut sequencer, maker.batch(&word, false));
    // Empty documents fill no key but take docIDs.
    sequencer.documents = u64::from(BLOCK_DOCS) - 1;
    give(&mut sequencer, maker.batch(&word, false));
    give(&mut sequencer, maker.batch(&word, false));
    let (_, last) = sequencer.finish();
    assert_eq!(full.len(), 1);
    assert_eq!(full[0].keys, [pack(0, 0, 1), pack(0, BLOCK_DOCS - 1, 1)]);
    assert_eq!((last.first_doc, last.keys.as_slice()), (BLOCK_DOCS, [pack(0, 0, 1)].as_slice()));
}

#[test]
fn document_numbers_do_not_overflow() {
    let mut maker = Maker::new(0);
    let mut sequencer = Sequencer::new(1, one_size(1 << 10), Block::default());
    sequencer.documents = u64::from(u32::MAX);
    let batch = maker.batch(&[vec!["word".to_owned()]], false);
    sequencer.learn(&batch);
    let outcome = sequencer.accept(&batch, &mut |_| Ok(Block::default()));
    assert!(matches!(outcome, Err(Error::Limit { what: "documents", .. })));
}
