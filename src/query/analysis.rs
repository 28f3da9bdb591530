//! The text of a query → terms.

use crate::Result;
use crate::text::{Analyzer, AnalyzerSpec, TermSink};

/// The terms of `text`, in order, with repetitions, as the documents of the index were analysed.
///
/// # Errors
/// The analyzer is not one of this program's.
pub(super) fn terms(spec: &AnalyzerSpec, text: &str) -> Result<Vec<String>> {
    let mut terms = Terms(Vec::new());
    Analyzer::new(spec)?.analyze(text, &mut terms);
    Ok(terms.0)
}

struct Terms(Vec<String>);

impl TermSink for Terms {
    fn term(&mut self, term: &[u8]) {
        self.0.push(String::from_utf8_lossy(term).into_owned());
    }
}
