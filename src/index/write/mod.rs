//! Writes an index beside its target and publishes it whole.
//!
//! | file | its one job |
//! |---|---|
//! | `writer` | the files of an index, and the manifest last |
//! | `encode` | lists of postings → words of every codec |
//! | `automaton` | the dictionary |
//! | `parts` | the files of a codec, and the table of terms |
//! | `texts` | the texts of documents |
//! | `packers` | threads that compress them |
//! | `output` | a file with its length and checksum |
//! | `publish` | the exchange of a finished directory |
//! | `unfinished` | the directory until then, and what dead processes left of such |

pub(in crate::index) mod automaton;
pub(in crate::index) mod encode;
pub(in crate::index) mod output;
mod packers;
pub(in crate::index) mod parts;
pub(in crate::index) mod publish;
pub(in crate::index) mod texts;
pub(in crate::index) mod unfinished;
pub(in crate::index) mod writer;
