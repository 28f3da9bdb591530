//! Documents that have any term, on a GPU: one registry.

use crate::Result;
use crate::query::named;

/// A way to rank the documents that have any term. All give the same answer.
pub struct GpuOrMethod {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// What does it.
    pub(super) by: By,
}

impl std::fmt::Debug for GpuOrMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What evaluates the documents that have any term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// An accumulator for each document of the collection.
    Accumulators,
    /// Ranges of docIDs; with `prune`, only those that may have one of the best documents.
    Ranges {
        /// Whether ranges are skipped.
        prune: bool,
    },
}

/// `accumulators`.
pub static ACCUMULATORS: GpuOrMethod = GpuOrMethod {
    name: "accumulators",
    about: "decodes all blocks and adds every posting to its document's accumulator, then looks through all accumulators",
    paper: "Ding et al. (WWW 2009, doi:10.1145/1526709.1526766), section 8.3",
    by: By::Accumulators,
};

/// `ranges`.
pub static RANGES: GpuOrMethod = GpuOrMethod {
    name: "ranges",
    about: "decodes the blocks of ranges of docIDs that may have one of the best documents, the most promising ranges first",
    paper: "range maxima: Dimopoulos, Nepomnyachiy and Suel (WSDM 2013, doi:10.1145/2433396.2433412)",
    by: By::Ranges { prune: true },
};

/// `ranges-exhaustive`.
pub static RANGES_EXHAUSTIVE: GpuOrMethod = GpuOrMethod {
    name: "ranges-exhaustive",
    about: "as ranges, but all ranges that have a posting: what skipping saves",
    paper: "the same, without bounds",
    by: By::Ranges { prune: false },
};

/// All methods, simple ones first. Everything that offers a choice walks this slice.
pub static GPU_OR_METHODS: &[&GpuOrMethod] = &[&ACCUMULATORS, &RANGES_EXHAUSTIVE, &RANGES];

/// The method called `name`.
///
/// # Errors
/// [`crate::Error::UnknownName`], which lists the choices.
pub fn gpu_or_method(name: &str) -> Result<&'static GpuOrMethod> {
    named("method for OR on a GPU", GPU_OR_METHODS, |row| [row.name; 2], name).copied()
}
