//! What a file is, by its content, and how it is cut into pieces.

use std::path::Path;

use super::format::{Cut, FORMATS, Format, Head, format_named};
use super::members::{Compression, Inflater, Whole};
use super::open::{CorpusOptions, InputFile, PlannedFile, Way};
use super::piece::map;
use super::rows;
use super::sniff::{Look, look};
use super::walk::{PROOF, Walker};
use crate::{Error, Result};

/// Larger files that have to be read from their front are read ahead by a thread; smaller ones are
/// one piece. In pieces of [`CorpusOptions::piece_bytes`].
fn ahead_from(compression: Compression) -> u64 {
    match compression {
        Compression::None => 2,
        Compression::Gzip | Compression::Zstd => 1,
        // Slow to inflate.
        Compression::Bzip2 => 0,
    }
}

/// The usual reason why a file has no format.
pub(super) const UNKNOWN: &str = "unknown content";

/// Detects a file's format; the inner error says why it has none.
pub(super) fn plan_file(path: &Path, name: String, options: &CorpusOptions) -> Result<Result<PlannedFile, String>> {
    let look = look(path)?;
    let head = Head { bytes: &look.head, complete: look.complete };
    let is_empty = look.complete && head.bytes.is_empty();
    let forced = options.format.as_deref().map(format_named).transpose()?;
    let mut compression = look.compression;
    let mut found = match forced {
        Some(format) => format.sniff(&head).then_some(format),
        None => FORMATS.iter().copied().find(|format| format.sniff(&head)),
    };
    // Mere text may be junk before something better.
    let text = *FORMATS.last().expect("there are formats");
    let is_text = |found: Option<&dyn Format>| found.is_none_or(|format| format.name() == text.name());
    if let Some(at) = look.behind_damage
        && is_text(found)
    {
        let sound = Head { bytes: &look.head[at..], complete: false };
        let formats = forced.as_ref().map_or(FORMATS, std::slice::from_ref);
        found = formats
            .iter()
            .copied()
            .find(|format| format.sniff(&sound))
            .filter(|format| !is_text(Some(*format)))
            .or(found);
    }
    let may_be_junk = compression == Compression::None && packed(head.bytes).is_none();
    if may_be_junk && is_text(found) {
        let formats = forced.as_ref().map_or(FORMATS, std::slice::from_ref);
        if let Some((coding, format)) = look.behind_junk(path, formats)? {
            (compression, found) = (coding, Some(format));
        }
    }
    let (format, label) = match forced.or(found) {
        _ if is_empty => (text, "empty"),
        Some(format) if !head.bytes.is_empty() => (format, format.name()),
        _ if head.bytes.is_empty() => {
            return Ok(Err(format!("{} data that breaks off before anything can be read", compression.name())));
        }
        _ => match packed(head.bytes) {
            Some(name) => {
                return Ok(Err(format!("{name} data, which is not read: unpack it; gzip, zstd and bzip2 are read")));
            }
            None => return Ok(Err(UNKNOWN.into())),
        },
    };
    if options.weights.is_some() && !format.has_weights() && !is_empty {
        return Ok(Err(format!("it is {label}, and weights of terms are wanted: only JSON has such")));
    }
    let is_table = format.name() == rows::NAME && !is_empty && format.sniff(&head);
    if is_table && let Some(why) = rows::refused(path, compression, options) {
        return Ok(Err(why));
    }
    let Look { bytes, utf16, dictionary, .. } = look;
    let utf16 = utf16.filter(|_| format.cut() != Cut::File);
    let compressed = compression.name();
    let info = InputFile { path: path.to_path_buf(), bytes, format: label, compression: compressed, range: None };
    let (way, extent) = (Way::Empty, 0..usize::MAX);
    let mut file = PlannedFile { info, name, format, compression, utf16, way, extent, proof: PROOF, dictionary };
    if !is_empty {
        file.way = self::way(&file, options)?;
    }
    #[cfg(feature = "parquet")]
    if is_table {
        file.way = Way::Rows;
    }
    Ok(Ok(file))
}

/// The name of a packing that is not read, by the beginning of a file.
fn packed(start: &[u8]) -> Option<&'static str> {
    let known: [(usize, &[u8], &str); 7] = [
        (0, b"PK\x03\x04", "zip"),
        (0, b"\xfd7zXZ\0", "xz"),
        (0, b"\x04\x22\x4d\x18", "lz4"),
        (0, b"7z\xbc\xaf\x27\x1c", "7z"),
        (0, b"Rar!\x1a\x07", "rar"),
        (0, b"\x1f\x9d", "compress (.Z)"),
        (257, b"ustar", "tar"),
    ];
    let is = |&(at, magic, _): &(usize, &[u8], &str)| start.get(at..).is_some_and(|rest| rest.starts_with(magic));
    known.iter().find(|known| is(known)).map(|&(_, _, name)| name)
}

/// A member that inflates to no more than this is small.
const SMALL: usize = 1 << 20;

/// Decides how to cut a file. The documents do not depend on it.
fn way(file: &PlannedFile, options: &CorpusOptions) -> Result<Way> {
    let piece = options.piece_bytes as u64;
    let size = file.info.bytes;
    if file.format.cut() == Cut::File {
        return Ok(Way::Whole);
    }
    let front = if size > piece * ahead_from(file.compression) { Way::Ahead } else { Way::Whole };
    if !file.may_be_cut() {
        return Ok(front);
    }
    if file.compression == Compression::None {
        return Ok(if size <= piece { Way::Whole } else { Way::Ranges(options.piece_bytes) });
    }
    // If the first members are small, there are many.
    let map = map(&file.info.path).map_err(Error::io("map", &file.info.path))?;
    let (mut consumed, mut produced) = (0, 0);
    let mut out = Vec::new();
    let mut inflater = Inflater::new();
    while produced < options.piece_bytes.min(SMALL) {
        match inflater.member(
            file.compression,
            file.dictionary.as_ref(),
            &map[consumed.min(map.len())..],
            &mut out,
            0,
            options.piece_bytes.min(SMALL),
        ) {
            Whole::Done { consumed: c, produced: p } => {
                consumed += c;
                produced += p;
            }
            // A large record among many, or one member that is the whole file: if a record begins in
            // the middle of the file, it is not one member.
            Whole::TooBig => {
                let middle = map.len() / 2;
                let source = file.source(&map, options);
                if Walker::new().find_start(&source, middle, middle + 2 * options.piece_bytes).is_none() {
                    return Ok(front);
                }
                break;
            }
            Whole::Bad => break,
        }
    }
    // A ratio of four is usual, and is assumed if the first member is the large one.
    let ratio = if produced < 1 << 16 { 4.0 } else { (produced as f64 / consumed as f64).clamp(1.0, 64.0) };
    let range = (options.piece_bytes as f64 / ratio) as usize;
    Ok(if size as usize <= range { Way::Whole } else { Way::Ranges(range.max(1)) })
}
