//! The text of a query → terms.

use crate::Result;
use crate::text::AnalyzerSpec;

/// The terms of `text`, in order, with repetitions.
pub(super) fn terms(spec: &AnalyzerSpec, text: &str) -> Result<Vec<String>> {
    let stop = spec.stop_words.as_deref().unwrap_or_default();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    Ok(words.filter(|word| !stop.contains(word)).collect())
}
