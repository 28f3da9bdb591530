//! Compression of what is written.
//!
//! A gzip file is one member, because some readers stop behind the first one; its parts are compressed on any thread,
//! as pigz does: each as blocks of its own that end at a byte. A zstd file is one frame, compressed where it is
//! written.

use flate2::{Compress, Compression, Crc, FlushCompress};
use std::io::{self, Write};
use std::path::Path;

/// Faster levels of zlib-rs compress lists of varints to hardly more.
const GZIP_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 3;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not.
    None,
    /// One gzip member.
    Gzip,
    /// One zstd frame.
    Zstd,
}

impl Packing {
    /// By the end of a file's name: `.gz`, `.zst`, or anything else.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Prepares a part of the content; on any thread.
    pub(super) fn part(self, bytes: Vec<u8>) -> io::Result<Part> {
        let len = bytes.len() as u64;
        let Self::Gzip = self else { return Ok(Part { bytes, len, crc: Crc::new() }) };
        let mut crc = Crc::new();
        crc.update(&bytes);
        let mut deflate = Compress::new(Compression::new(GZIP_LEVEL), false);
        let mut out = Vec::with_capacity(bytes.len() / 2 + 64);
        loop {
            let used = deflate.total_in() as usize;
            out.reserve(1 << 12);
            deflate.compress_vec(&bytes[used..], &mut out, FlushCompress::Sync).map_err(io::Error::other)?;
            // Room that is left says that all is flushed.
            if deflate.total_in() == len && out.len() < out.capacity() {
                return Ok(Part { bytes: out, len, crc });
            }
        }
    }
}

/// A part of the content, ready to be written.
pub(super) struct Part {
    bytes: Vec<u8>,
    /// Bytes before compression.
    len: u64,
    crc: Crc,
}

/// Writes parts in order.
pub(super) struct Packer<'a> {
    out: Out<'a>,
    crc: Crc,
    /// Bytes of the content.
    pub written: u64,
}

enum Out<'a> {
    Plain(&'a mut dyn Write),
    Gzip(&'a mut dyn Write),
    Zstd(Box<zstd::stream::write::Encoder<'static, &'a mut dyn Write>>),
}

impl<'a> Packer<'a> {
    pub(super) fn new(packing: Packing, out: &'a mut dyn Write) -> io::Result<Self> {
        let out = match packing {
            Packing::None => Out::Plain(out),
            Packing::Gzip => {
                // No name, no time, so that the same index gives the same bytes.
                out.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])?;
                Out::Gzip(out)
            }
            Packing::Zstd => Out::Zstd(Box::new(zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?)),
        };
        Ok(Self { out, crc: Crc::new(), written: 0 })
    }

    pub(super) fn write(&mut self, part: &Part) -> io::Result<()> {
        self.written += part.len;
        self.crc.combine(&part.crc);
        match &mut self.out {
            Out::Plain(out) | Out::Gzip(out) => out.write_all(&part.bytes),
            Out::Zstd(encoder) => encoder.write_all(&part.bytes),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Plain(out) => out.flush(),
            Out::Gzip(out) => {
                // The last block, which is empty.
                out.write_all(&[3, 0])?;
                out.write_all(&self.crc.sum().to_le_bytes())?;
                out.write_all(&(self.written as u32).to_le_bytes())?;
                out.flush()
            }
            Out::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Read as _;

    /// As one gzip file.
    pub(in crate::ciff) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut packer = Packer::new(Packing::Gzip, &mut out).unwrap();
        packer.write(&Packing::Gzip.part(bytes.to_vec()).unwrap()).unwrap();
        packer.finish().unwrap();
        out
    }

    #[test]
    fn test_parts_are_one_stream() {
        let parts: Vec<Vec<u8>> =
            (0..5usize).map(|i| (0..i * 70_001).map(|j| ((j * j) >> 3) as u8 & 31).collect()).collect();
        let whole = parts.concat();
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let mut out = Vec::new();
            let mut packer = Packer::new(packing, &mut out).unwrap();
            for part in &parts {
                packer.write(&packing.part(part.clone()).unwrap()).unwrap();
            }
            assert_eq!(packer.written, whole.len() as u64);
            packer.finish().unwrap();
            let mut back = Vec::new();
            match packing {
                Packing::None => back.clone_from(&out),
                // The reader of one member.
                Packing::Gzip => drop(flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut back).unwrap()),
                Packing::Zstd => back = zstd::stream::decode_all(&out[..]).unwrap(),
            }
            assert!(back == whole, "{packing:?}");
            assert!(packing == Packing::None || out.len() < whole.len() * 3 / 4, "{packing:?}: {}", out.len());
        }
    }
}
