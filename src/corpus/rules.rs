//! The help on the input: the formats, the records that become documents, and the limits of the readers.

use std::fmt::Write as _;

use super::decode::MAX_CODINGS;
use super::format::{FORMATS, MAX_HEAD};
use super::formats::arc::MAX_LINE;
use super::formats::sgml::{MAX_COMMENT, MAX_TAG};
use super::formats::{mediawiki, tsv};
use super::json_doc::{MAX_DEPTH, MAX_FIELDS};
use super::members::{MAX_DICTIONARY, ZSTD_WINDOW_LOG};
use super::open::CorpusOptions;
use super::sniff::{HEAD, RAW};

/// Lines of the help are no longer.
const HELP_COLUMNS: usize = 78;

const RULES: &str = "\n
The first of repeated header fields counts. Lines of Content-Encoding and of
Transfer-Encoding are one list each. If a Content-Type contains several types,
the last valid one counts. A header line that begins with a space continues the
line before it. gamut undoes content and transfer codings. If a body is not
coded as its header says, gamut uses it as it is, with a warning. A record that
is cut short counts as far as it goes. Damage costs one record: gamut reports
it and goes on at the next record. Bytes before the first record are damage.
gamut passes over a file that it cannot read, counts it as damage, and names it
even with --quiet, of many the first 20.";

/// 65536 → "64 KiB".
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// The documents of each format.
fn formats() -> String {
    let width = 2 + FORMATS.iter().map(|format| format.name().len()).max().unwrap_or(0);
    let mut text = String::from("What becomes a document, by format:");
    for format in FORMATS {
        let mut column = usize::MAX;
        for (i, word) in format.description().split(' ').enumerate() {
            column = column.saturating_add(1 + word.chars().count());
            if column > HELP_COLUMNS {
                let name = if i == 0 { format.name() } else { "" };
                text += &format!("\n  {name:width$}{word}");
                column = 2 + width + word.chars().count();
            } else {
                text += &format!(" {word}");
            }
        }
    }
    text
}

/// The records that become documents, the limits of the readers, and `more` limits: name and value.
pub fn rules(more: &[(&str, String)]) -> String {
    let limits = [
        ("format of a file", format!("decided by its first {}, decompressed", size(HEAD))),
        ("bytes before the first record", size(RAW)),
        ("record", format!("{}, as stored and decoded", size(CorpusOptions::default().max_record))),
        ("head of a WARC record", size(MAX_HEAD)),
        ("head line of an ARC record", size(MAX_LINE)),
        ("codings of a body", MAX_CODINGS.to_string()),
        ("window of zstd", size(1 << ZSTD_WINDOW_LOG)),
        ("dictionary of zstd", size(MAX_DICTIONARY)),
        ("comment between <DOC>s", size(MAX_COMMENT)),
        ("tag in a <DOC>", size(MAX_TAG)),
        ("nesting of wikitext", mediawiki::MAX_DEPTH.to_string()),
        ("nesting of named JSON fields", MAX_DEPTH.to_string()),
        ("JSON fields of a text", MAX_FIELDS.to_string()),
        ("id in a TSV", format!("{} (none under --format tsv)", size(tsv::MAX_ID))),
    ];
    let mut text = formats() + RULES + "\n\nLimits of the readers:";
    for (what, limit) in limits.iter().chain(more) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {what:30}{limit}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_help_names_every_format_and_limit() {
        let rules = rules(&[("word", "255 bytes".to_owned())]);
        for format in FORMATS {
            assert!(rules.contains(&format!("\n  {} ", format.name())), "{}", format.name());
        }
        for limit in ["64 MiB", "head of a WARC record         1 MiB", "word                          255 bytes"] {
            assert!(rules.contains(limit), "{limit} in {rules}");
        }
        assert!(rules.lines().all(|line| line.chars().count() <= 80), "{rules}");
    }
}
