//! Choices of the library as clap knows them: the library itself names no command line.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::cli::query::EngineChoice;
use crate::pipeline::Pipeline;
use crate::query::engine::EngineKind;
use crate::query::{Mode, Scores};
use crate::{Error, Result};

/// The choice of a name, for programs without a command line.
///
/// # Errors
/// [`Error::UnknownName`] with the choices that there are.
pub fn chosen<T: ValueEnum>(kind: &'static str, name: &str) -> Result<T> {
    T::from_str(name, true).map_err(|_| {
        let value = |value: &T| Some(value.to_possible_value()?.get_name().to_owned());
        let choices = T::value_variants().iter().filter_map(value).collect::<Vec<_>>().join(", ");
        Error::UnknownName { kind, name: name.to_owned(), choices }
    })
}

fn value(name: &'static str, help: &'static str) -> Option<PossibleValue> {
    Some(PossibleValue::new(name).help(help))
}

impl ValueEnum for Pipeline {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Overlapped, Self::Serial, Self::Cpu, Self::Spimi]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Overlapped => value("overlapped", "Block i+1 is parsed while block i is sorted (Index_gpu+)"),
            Self::Serial => value("serial", "Parse a block, then sort it, in turn (Index_gpu)"),
            Self::Cpu => value("cpu", "As serial, sorted on the CPU (Index_cpu)"),
            Self::Spimi => {
                value("spimi", "Lists grow in memory; only terms are sorted (single-pass in-memory indexing)")
            }
        }
    }
}

impl ValueEnum for EngineKind {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Cpu, Self::Gpu, Self::Griffin]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Cpu => value("cpu", "The CPU: a query on one core, a file of them on all"),
            Self::Gpu => value(
                "gpu",
                "A GPU, in batches; the CPU answers what does not fit there, and everything if the device fails",
            ),
            Self::Griffin => value(
                "griffin",
                "Both together, a query at a time: one with several terms moves from the GPU to the CPU; see --migrate",
            ),
        }
    }
}

impl ValueEnum for EngineChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Fixed(EngineKind::Cpu), Self::Fixed(EngineKind::Gpu), Self::Fixed(EngineKind::Griffin)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Auto => value(
                "auto",
                "The preset's, or whatever is expected to answer sooner: one query is for the CPU unless a GPU is open, a file of them for a GPU if that pays; by `gamut calibrate` or a rule",
            ),
            Self::Fixed(kind) => kind.to_possible_value(),
        }
    }
}

impl ValueEnum for Scores {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Bm25, Self::Impacts]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Bm25 => value("bm25", "BM25, the same to the bit on every engine"),
            Self::Impacts => value("impacts", "Quantised impacts: sums of integers; the index must have them"),
        }
    }
}

impl ValueEnum for Mode {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::And, Self::Or, Self::AndOr]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::And => value("and", "Those with all terms; a term that no document has matches none"),
            Self::Or => value("or", "Those with any term"),
            Self::AndOr => value("and-or", "As `and`, but if that finds fewer than k, as `or`"),
        }
    }
}
