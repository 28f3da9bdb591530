//! `file`: documents in the order of a file.

use super::{Family, Needs, Permutation};
use crate::base::params::{Domain, Param};
use std::path::Path;

/// `file`.
pub static FILE: Family = Family {
    name: "file",
    about: "by the lines `old new` of a file, which may come in any order, packed by gzip, zstd or bzip2, or not",
    paper: None,
    params: &[Param { name: "path", about: "where that file is", domain: Domain::Path, default: "" }],
    needs: Needs::Nothing,
    check: |settings| Permutation::check_file(Path::new(settings.text("path"))),
    make: |settings, documents, _| Permutation::read(Path::new(settings.text("path")), documents.count()),
};
