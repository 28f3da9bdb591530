//! The text of a query → terms.

use crate::Result;
use crate::text::{Analyzer, AnalyzerSpec, TermSink};
use std::sync::{Mutex, PoisonError};

/// Analyses queries on any number of threads. An analyzer has scratch memory and is costly to make, so idle ones are
/// kept.
pub(super) struct Analysis {
    spec: AnalyzerSpec,
    idle: Mutex<Vec<Analyzer>>,
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
        Ok(Self { spec: spec.clone(), idle: Mutex::new(vec![Analyzer::new(spec)?]) })
    }

    /// The terms of `text`, in order, with repetitions.
    pub(super) fn terms(&self, text: &str) -> Result<Vec<String>> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut analyzer = kept.map_or_else(|| Analyzer::new(&self.spec), Ok)?;
        let mut terms = Collect(Vec::new());
        analyzer.analyze(text, &mut terms);
        idle().push(analyzer);
        Ok(terms.0)
    }
}
