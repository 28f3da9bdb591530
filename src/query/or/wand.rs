//! WAND, and the order of cursors that block-max WAND shares.

use super::*;

/// `wand`.
pub static WAND: OrMethod = OrMethod {
    name: "wand",
    short: "wand",
    about: "keeps the cursors in the order of their documents and jumps to the first that can pass the threshold",
    paper: "Broder, Carmel, Herscovici, Soffer, Zien: Efficient query evaluation using a two-level retrieval process (CIKM 2003, doi:10.1145/956863.956944)",
    cpu: Some(rank!(run)),
    gpu: None,
};

/// The current document of a term's cursor.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) doc: u32,
    /// Index of the term.
    pub(super) term: usize,
}

/// The cursors in the order of their documents.
pub(super) struct Heads(pub(super) Vec<Head>);

impl Heads {
    pub(super) fn new(terms: &[Scored<'_, impl Postings>]) -> Self {
        let heads = terms.iter().enumerate().map(|(i, term)| Head { doc: term.cursor.doc(), term: i });
        let mut heads: Vec<Head> = heads.collect();
        heads.sort_by_key(|head| head.doc);
        Self(heads)
    }

    /// The first head up to which the bounds add up to more than the threshold, with later heads on the same document;
    /// `None` if the lists end before.
    pub(super) fn pivot(&self, terms: &[Scored<'_, impl Postings>], threshold: f32) -> Option<usize> {
        let mut sum = 0.0;
        let mut heads = self.0.iter().take_while(|head| head.doc != END);
        let first = heads.position(|head| {
            sum += terms[head.term].bound;
            sum > threshold
        })?;
        let doc = self.0[first].doc;
        Some(first + self.0[first + 1..].iter().take_while(|head| head.doc == doc).count())
    }

    /// Puts the head at `i` in its new place; documents only grow.
    fn settle(&mut self, i: usize) {
        let head = self.0[i];
        let mut at = i;
        while at + 1 < self.0.len() && self.0[at + 1].doc < head.doc {
            self.0[at] = self.0[at + 1];
            at += 1;
        }
        self.0[at] = head;
    }

    /// Moves the head at `i` to the first posting from `doc` on.
    pub(super) fn skip(&mut self, i: usize, doc: u32, terms: &mut [Scored<'_, impl Postings>]) {
        self.0[i].doc = terms[self.0[i].term].cursor.seek(doc);
        self.settle(i);
    }

    /// Moves one head before the pivot's document up to it; false if all stand on it already.
    pub(super) fn align(&mut self, pivot: usize, terms: &mut [Scored<'_, impl Postings>]) -> bool {
        let doc = self.0[pivot].doc;
        let Some(last) = self.0[..pivot].iter().rposition(|head| head.doc != doc) else { return false };
        self.skip(last, doc, terms);
        true
    }

    /// Pushes the document of the heads up to the pivot, and moves the heads on.
    pub(super) fn push(
        &mut self,
        pivot: usize,
        terms: &mut [Scored<'_, impl Postings>],
        scorer: &impl Scorer,
        top: &mut TopK<'_>,
    ) {
        let (doc, mut score) = (self.0[pivot].doc, 0.0);
        for head in &mut self.0[..=pivot] {
            let term = &mut terms[head.term];
            score += term.score(scorer);
            head.doc = term.cursor.advance();
        }
        top.push(Hit { doc, score });
        for i in (0..=pivot).rev() {
            self.settle(i);
        }
    }
}

pub(super) fn run(terms: &mut [Scored<'_, impl Postings>], scorer: &impl Scorer, top: &mut TopK<'_>) {
    let mut heads = Heads::new(terms);
    while let Some(pivot) = heads.pivot(terms, top.threshold()) {
        if !heads.align(pivot, terms) {
            heads.push(pivot, terms, scorer, top);
        }
    }
}
