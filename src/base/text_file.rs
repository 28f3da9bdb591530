//! Text files as people keep them: packed by gzip, zstd or bzip2, and with a byte order mark.

use super::gzip::Members;
use encoding_rs::{CoderResult, Decoder, Encoding, WINDOWS_1252};
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// A text file that was opened.
pub struct TextFile<'a> {
    /// By what it was packed.
    pub packed: Option<&'static str>,
    /// Its content, without a byte order mark: UTF-8 if there was one, whatever it said, and else as it is.
    pub text: Box<dyn BufRead + Send + 'a>,
}

/// Unpacks and decodes a file by its first bytes.
///
/// # Errors
/// The first bytes cannot be read; with it, by what the file is packed.
pub fn open<'a>(source: impl Read + Send + 'a) -> Result<TextFile<'a>, (Option<&'static str>, io::Error)> {
    let source = BufReader::with_capacity(BUFFER, source);
    let (packed, source) = unpacked(source).map_err(|error| (None, error))?;
    let text = decoded(source).map_err(|error| (packed, error))?;
    Ok(TextFile { packed, text })
}

/// The whole content of a file, as [`open`] gives it.
///
/// # Errors
/// The file cannot be read, or does not unpack.
pub fn read(source: impl Read + Send) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    open(source).map_err(|(_, error)| error)?.text.read_to_end(&mut all)?;
    Ok(all)
}

/// The text of a line, or of an id: UTF-8, or else Windows-1252, which includes Latin-1. Two that differ in a byte stay
/// apart, as they would not with replacement characters.
pub fn line(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(line) => line.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(raw).0,
    }
}

/// The first `count` bytes, or all if there are fewer, and everything from the start.
fn peek<'a>(mut source: impl Read + Send + 'a, count: u64) -> io::Result<(Vec<u8>, impl Read + Send + 'a)> {
    let mut start = Vec::new();
    source.by_ref().take(count).read_to_end(&mut start)?;
    Ok((start.clone(), io::Cursor::new(start).chain(source)))
}

/// Whether a frame of zstd begins here, or one to pass over, with which `pzstd` begins (RFC 8878, section 3.1).
pub fn is_zstd(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The content, and by what it was packed.
fn unpacked<'a>(source: impl Read + Send + 'a) -> io::Result<(Option<&'static str>, Box<dyn Read + Send + 'a>)> {
    let (start, source) = peek(source, 4)?;
    Ok(match &start[..] {
        [0x1f, 0x8b, ..] => (Some("gzip"), Box::new(Members::new(BufReader::with_capacity(BUFFER, source)))),
        start if is_zstd(start) => (Some("zstd"), Box::new(zstd::stream::read::Decoder::new(source)?)),
        [b'B', b'Z', b'h', b'1'..=b'9'] => (Some("bzip2"), Box::new(bzip2::read::MultiBzDecoder::new(source))),
        _ => (None, Box::new(source)),
    })
}

fn decoded<'a>(source: impl Read + Send + 'a) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let (start, mut source) = peek(source, 3)?;
    let Some((encoding, mark)) = Encoding::for_bom(&start) else {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, source)));
    };
    io::copy(&mut source.by_ref().take(mark as u64), &mut io::sink())?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, Decoded::new(source, encoding))))
}

/// Another encoding as UTF-8.
struct Decoded<R> {
    source: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The part of `raw` that is not decoded yet.
    left: std::ops::Range<usize>,
    text: Vec<u8>,
    /// The part of `text` that nobody took yet.
    ready: std::ops::Range<usize>,
    /// `source` has no more.
    ended: bool,
    /// The decoder has given everything.
    done: bool,
}

impl<R: Read> Decoded<R> {
    fn new(source: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_without_bom_handling();
        let [raw, text] = [vec![0; BUFFER], vec![0; BUFFER]];
        Self { source, decoder, raw, left: 0..0, text, ready: 0..0, ended: false, done: false }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.done {
            if self.left.is_empty() && !self.ended {
                self.left = 0..self.source.read(&mut self.raw)?;
                self.ended = self.left.is_empty();
            }
            let raw = &self.raw[self.left.clone()];
            let (result, read, written, _) = self.decoder.decode_to_utf8(raw, &mut self.text, self.ended);
            self.left.start += read;
            self.ready = 0..written;
            self.done = self.ended && result == CoderResult::InputEmpty;
        }
        let count = out.len().min(self.ready.len());
        out[..count].copy_from_slice(&self.text[self.ready.start..][..count]);
        self.ready.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn test_packing_and_marks() {
        let text = "eins \u{e9}\n";
        let utf16 = |to: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(to).collect()
        };
        let plain = [
            text.as_bytes().to_vec(),
            ["\u{feff}".as_bytes(), text.as_bytes()].concat(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ];
        for bytes in plain {
            assert_eq!(read(&bytes[..]).unwrap(), text.as_bytes());
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(&bytes).unwrap();
            let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            bzip2.write_all(&bytes).unwrap();
            let zstd = zstd::encode_all(&bytes[..], 1).unwrap();
            for packed in [gzip.finish().unwrap(), bzip2.finish().unwrap(), zstd] {
                assert_eq!(read(&packed[..]).unwrap(), text.as_bytes());
                assert!(read(&packed[..packed.len() - 1]).is_err());
            }
        }
        assert_eq!((line(b"caf\xe9"), line("caf\u{e9}".as_bytes())), ("caf\u{e9}".into(), "caf\u{e9}".into()));
        assert_eq!(read(&b"\xff\xe9"[..]).unwrap(), b"\xff\xe9");
        assert_eq!(read(&b""[..]).unwrap(), b"");
    }
}
