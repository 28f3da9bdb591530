//! The text of a query → terms.

use crate::Result;
use crate::text::{Analyzer, AnalyzerSpec, TermSink};
use std::cell::RefCell;
use thread_local::ThreadLocal;

/// Analyses queries on any number of threads. An analyzer has scratch memory and is costly to make, so each thread
/// keeps one. To take one of a common store took 32 cores longer than to plan a query did.
pub(super) struct Analysis {
    spec: AnalyzerSpec,
    analyzers: ThreadLocal<RefCell<Analyzer>>,
}

struct Collect(Vec<String>);

impl TermSink for Collect {
    fn term(&mut self, term: &[u8]) {
        self.0.push(String::from_utf8_lossy(term).into_owned());
    }
}

impl Analysis {
    /// For the analyzer of an index.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] if this gamut lacks it.
    pub(super) fn new(spec: &AnalyzerSpec) -> Result<Self> {
        let analysis = Self { spec: spec.clone(), analyzers: ThreadLocal::new() };
        analysis.own()?;
        Ok(analysis)
    }

    /// The analyzer of this thread.
    fn own(&self) -> Result<&RefCell<Analyzer>> {
        self.analyzers.get_or_try(|| Analyzer::new(&self.spec).map(RefCell::new))
    }

    /// The terms of `text`, in order, with repetitions.
    pub(super) fn terms(&self, text: &str) -> Result<Vec<String>> {
        let mut terms = Collect(Vec::new());
        // no tokenizer of a caller's calls back, and if one did, it would get an analyzer of its own
        match self.own()?.try_borrow_mut() {
            Ok(mut analyzer) => analyzer.analyze(text, &mut terms),
            Err(_) => Analyzer::new(&self.spec)?.analyze(text, &mut terms),
        };
        Ok(terms.0)
    }
}
