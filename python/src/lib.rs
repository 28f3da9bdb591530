//! gamut as a Python module. Here Python's values become the library's, and back; all work is the library's.
//!
//! | file | its one job |
//! |---|---|
//! | `work` | long work beside Python: Ctrl-C, progress, documents on their way |
//! | `documents`, `tables` | dicts and Arrow tables → batches of documents |
//! | `indexing` | build and append |
//! | `changes` | the other commands that write |
//! | `search` | an open index |
//! | `answering` | windows of queries on the CPU or on a device, asked by several threads of Python |
//! | `queries` | texts and dicts → queries, and pairs of these and documents |
//! | `contents` | postings, terms, scores of given pairs |
//! | `settings` | keyword arguments → how queries are answered |
//! | `results` | what a search found, as arrays |
//! | `strings` | Arrow strings for Python |
//! | `evaluate` | measures of runs |
//! | `errors` | the library's errors as exceptions |

mod answering;
mod changes;
mod contents;
mod documents;
mod errors;
mod evaluate;
mod indexing;
mod queries;
mod results;
mod search;
mod settings;
mod strings;
mod tables;
mod work;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// Runs the command line. `args` begins with the name of the program.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = gamut::cli::main_of(args);
        // a program of Rust's own does so when it ends
        let _ = std::io::stdout().flush();
        (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(2)
    })
}

/// The part of `gamut` that is written in Rust.
#[pymodule]
fn _gamut(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("NO_DOCUMENT", results::NO_DOCUMENT)?;
    module.add_class::<search::Index>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<strings::Strings>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(indexing::index, module)?)?;
    module.add_function(wrap_pyfunction!(indexing::append, module)?)?;
    module.add_function(wrap_pyfunction!(changes::reencode, module)?)?;
    module.add_function(wrap_pyfunction!(changes::reorder, module)?)?;
    module.add_function(wrap_pyfunction!(changes::merge, module)?)?;
    module.add_function(wrap_pyfunction!(changes::delete, module)?)?;
    module.add_function(wrap_pyfunction!(changes::import_ciff, module)?)?;
    module.add_function(wrap_pyfunction!(changes::export_ciff, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(indexing::files_of_part, module)?)?;
    module.add_function(wrap_pyfunction!(results::write_run, module)?)?;
    module.add_function(wrap_pyfunction!(queries::topics, module)?)?;
    module.add_function(wrap_pyfunction!(work::size, module)?)?;
    Ok(())
}
