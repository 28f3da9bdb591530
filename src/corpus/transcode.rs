//! Record formats in UTF-16: read through as UTF-8. Rare, so without any haste.

use std::io::Read;

use encoding_rs::{CoderResult, Encoding};

use super::members::Compression;
use super::walk::Source;
use super::window::{Framing, RecordSink, Window};
use super::{Skip, SkipKind};
use crate::base::gzip::Members;

/// Bytes per read.
const STEP: usize = 256 << 10;

/// Reads a whole file; returns how many bytes of UTF-8 it held. Behind a damage of the compressed
/// data the rest of the file is lost.
pub(super) fn read(source: &Source<'_>, encoding: &'static Encoding, out: &mut dyn RecordSink) -> u64 {
    let mut reader: Box<dyn Read + '_> = match source.compression {
        Compression::None => Box::new(source.data),
        Compression::Gzip => Box::new(Members::new(source.data)),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(source.data)),
        Compression::Zstd => match zstd::stream::read::Decoder::with_buffer(source.data) {
            Ok(decoder) => Box::new(decoder),
            Err(error) => {
                out.lost(Skip { kind: SkipKind::BadCompression, offset: 0, detail: error.to_string() });
                return 0;
            }
        },
    };
    let mut decoder = encoding.new_decoder();
    let mut framing = Framing::new(source.format, source.max);
    let mut window = Window::new();
    let mut raw = vec![0; STEP];
    let mut total = 0;
    loop {
        let (n, last) = match reader.read(&mut raw) {
            Ok(0) => (0, true),
            Ok(n) => (n, false),
            Err(error) => {
                window.drop_content();
                out.lost(Skip { kind: SkipKind::BadCompression, offset: 0, detail: error.to_string() });
                return total;
            }
        };
        let mut used = 0;
        loop {
            let end = window.end();
            // Two bytes of UTF-16 become at most three of UTF-8.
            window.bytes.resize(window.bytes.len().max(end + 2 * STEP), 0);
            let (result, took, wrote, _) = decoder.decode_to_utf8(&raw[used..n], &mut window.bytes[end..], last);
            used += took;
            total += wrote as u64;
            window.grow(wrote);
            window.drain(&mut framing, false, true, out);
            if result == CoderResult::InputEmpty {
                break;
            }
        }
        if out.stopped() {
            return total;
        }
        if last {
            window.release(out);
            let end = window.end();
            window.end_run(&mut framing, end, out);
            return total;
        }
    }
}
