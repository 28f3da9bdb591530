//! Compressed files as sequences of members: gzip members, zstd frames, bzip2 streams.
//!
//! Two ways to inflate a member. [`Inflater::member`] does it in one go, with libdeflate for gzip,
//! and says nothing unless the whole member is good. [`Stream`] does it piecewise, for members that
//! are too large to hold and to save what stands before a damage.

use std::ptr::NonNull;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflate_sys as ld;
use memchr::memmem;
use zstd::zstd_safe;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// bzip2, one stream or several.
    Bzip2,
}

impl Compression {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        }
    }

    /// What the first bytes of a file say.
    pub(super) fn sniff(head: &[u8]) -> Self {
        for coding in [Self::Gzip, Self::Zstd, Self::Bzip2] {
            if coding.at_header(head) {
                return coding;
            }
        }
        Self::None
    }

    /// True if a member may start here: magic bytes and reserved bits.
    pub(super) fn at_header(self, bytes: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Gzip => bytes.len() > 10 && bytes.starts_with(&[0x1f, 0x8b, 8]) && bytes[3] & 0xe0 == 0,
            Self::Zstd => {
                bytes.starts_with(&ZSTD_MAGIC)
                    || (bytes.len() >= 8 && bytes[0] & 0xf0 == 0x50 && bytes[1..4] == [0x2a, 0x4d, 0x18])
            }
            Self::Bzip2 => {
                bytes.len() > 10
                    && bytes.starts_with(b"BZh")
                    && (b'1'..=b'9').contains(&bytes[3])
                    && (bytes[4..10] == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
                        || bytes[4..10] == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90])
            }
        }
    }

    /// The first offset in `from..to` where [`Compression::at_header`] holds.
    pub(super) fn find_header(self, data: &[u8], from: usize, to: usize) -> Option<usize> {
        let magic: &[u8] = match self {
            Self::None => return None,
            Self::Gzip => &[0x1f, 0x8b, 8],
            Self::Zstd => &ZSTD_MAGIC,
            Self::Bzip2 => b"BZh",
        };
        let end = data.len().min(to.saturating_add(magic.len() - 1));
        let mut at = from;
        while at < end {
            let hit = at + memmem::find(&data[at..end], magic)?;
            if self.at_header(&data[hit..]) {
                return Some(hit);
            }
            at = hit + 1;
        }
        None
    }
}

/// The outcome of inflating a member in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// It is good: so many bytes were read, so many written.
    Done {
        /// Compressed bytes.
        consumed: usize,
        /// Inflated bytes.
        produced: usize,
    },
    /// It inflates to more bytes than the cap, and so far it is good.
    TooBig,
    /// It is no member, or a damaged one.
    Bad,
}

/// A libdeflate decompressor.
struct Deflate(NonNull<ld::libdeflate_decompressor>);

// SAFETY: the decompressor is plain memory without ties to a thread; it is only used through `&mut`.
unsafe impl Send for Deflate {}

impl Deflate {
    fn new() -> Self {
        // SAFETY: takes no argument; null means out of memory, which is checked.
        let raw = unsafe { ld::libdeflate_alloc_decompressor() };
        Self(NonNull::new(raw).expect("memory for a libdeflate decompressor"))
    }
}

impl Drop for Deflate {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `libdeflate_alloc_decompressor` and is freed once.
        unsafe { ld::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// The wrapper around a deflate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
    /// RFC 1951, bare.
    Raw,
}

/// The first size of an output buffer; it grows fourfold, later twofold, and only as far as data really inflates.
const FIRST: usize = 1 << 20;

/// Data that all frames of a zstd file may refer to.
///
/// WARC's zstd profile (IIPC, "Zstandard compression for WARC files") puts it in the first,
/// skippable, frame of a file, plain or itself compressed.
pub(super) type Dictionary = Arc<Vec<u8>>;

/// The largest dictionary that is read, in bytes.
pub(super) const MAX_DICTIONARY: usize = 16 << 20;

/// Reads the dictionary of a zstd file, if `data`, its first bytes, hold one.
pub(super) fn dictionary(data: &[u8]) -> Option<Dictionary> {
    let rest = data.strip_prefix(&[0x5d, 0x2a, 0x4d, 0x18])?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let bytes = rest.get(..u32::from_le_bytes(*len) as usize)?;
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return Some(Arc::new(bytes.to_vec()));
    }
    let mut out = Vec::new();
    match Inflater::new().member(Compression::Zstd, None, bytes, &mut out, 0, MAX_DICTIONARY) {
        Whole::Done { produced, .. } => {
            out.truncate(produced);
            Some(Arc::new(out))
        }
        _ => None,
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Inflates whole members. One per worker; what it returns does not depend on earlier calls.
pub(super) struct Inflater {
    deflate: Deflate,
    /// Making one costs more than a small frame.
    zstd: Option<(Option<Dictionary>, Stream)>,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { deflate: Deflate::new(), zstd: None }
    }

    /// Inflates the deflate stream at the start of `data` to `out[at..]`, growing `out` up to
    /// `at + cap` bytes. What `out` held beyond `at` is overwritten.
    pub(super) fn deflate(&mut self, wrapper: Wrapper, data: &[u8], out: &mut Vec<u8>, at: usize, cap: usize) -> Whole {
        let call = match wrapper {
            Wrapper::Gzip => ld::libdeflate_gzip_decompress_ex,
            Wrapper::Zlib => ld::libdeflate_zlib_decompress_ex,
            Wrapper::Raw => ld::libdeflate_deflate_decompress_ex,
        };
        if out.len() < at + FIRST.min(cap) {
            out.resize(at + FIRST.min(cap), 0);
        }
        loop {
            let room = (out.len() - at).min(cap);
            let (mut consumed, mut produced) = (0, 0);
            // SAFETY: input and output are valid for the lengths given and do not overlap; the two
            // counters are valid for writes; the decompressor is alive and ours alone.
            let result = unsafe {
                call(
                    self.deflate.0.as_ptr(),
                    data.as_ptr().cast(),
                    data.len(),
                    out[at..].as_mut_ptr().cast(),
                    room,
                    &mut consumed,
                    &mut produced,
                )
            };
            match result {
                ld::libdeflate_result_LIBDEFLATE_SUCCESS => {
                    return Whole::Done { consumed, produced };
                }
                ld::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE if room == cap => {
                    return Whole::TooBig;
                }
                ld::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => {
                    // Inflating again costs time, room that stays unused memory.
                    let factor = if room < 16 * FIRST { 4 } else { 2 };
                    out.resize(at + room.saturating_mul(factor).min(cap), 0);
                }
                _ => return Whole::Bad,
            }
        }
    }

    /// Inflates the member at the start of `data` to `out[at..]`; see [`Inflater::deflate`].
    pub(super) fn member(
        &mut self,
        coding: Compression,
        dictionary: Option<&Dictionary>,
        data: &[u8],
        out: &mut Vec<u8>,
        at: usize,
        cap: usize,
    ) -> Whole {
        if !coding.at_header(data) {
            return Whole::Bad;
        }
        if coding == Compression::Gzip {
            return self.deflate(Wrapper::Gzip, data, out, at, cap);
        }
        if coding != Compression::Zstd {
            return Stream::new(coding, None).whole(data, out, at, cap);
        }
        let mut stream = match self.zstd.take() {
            Some((kept, stream)) if kept.as_ref().map(Arc::as_ptr) == dictionary.map(Arc::as_ptr) => stream,
            _ => Stream::new(coding, dictionary),
        };
        stream.restart();
        let whole = stream.whole(data, out, at, cap);
        self.zstd = Some((dictionary.cloned(), stream));
        whole
    }
}

/// Progress of a [`Stream`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Pulled {
    /// Bytes of input used.
    pub used: usize,
    /// Bytes of output written.
    pub produced: usize,
    /// True when the member is over and its checksum was right.
    pub done: bool,
}

/// A member that breaks off or does not inflate.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    /// Bytes of output written by the failing call.
    pub produced: usize,
    /// What is wrong.
    pub why: &'static str,
    /// True if nothing is wrong but that the file ends.
    pub torn: bool,
}

/// Inflates one member piece by piece.
pub(super) enum Stream {
    Gzip(Box<Decompress>),
    Zstd(Box<zstd_safe::DCtx<'static>>),
    Bzip2(Box<bzip2::Decompress>),
}

/// The largest window a zstd frame may ask for, as a power of two: 128 MiB, the default of the format's tools.
pub(super) const ZSTD_WINDOW_LOG: u32 = 27;

impl Stream {
    /// For one member of this kind. Uncompressed data has no members.
    pub(super) fn new(coding: Compression, dictionary: Option<&Dictionary>) -> Self {
        match coding {
            Compression::None | Compression::Gzip => Self::Gzip(Box::new(Decompress::new_gzip(15))),
            Compression::Zstd => {
                let mut context = zstd_safe::DCtx::create();
                // A refusal leaves the library's own default, which is the same limit.
                let _ = context.set_parameter(zstd_safe::DParameter::WindowLogMax(ZSTD_WINDOW_LOG));
                if let Some(dictionary) = dictionary {
                    // Without it the frames that need it fail, and are reported.
                    let _ = context.load_dictionary(dictionary);
                }
                Self::Zstd(Box::new(context))
            }
            Compression::Bzip2 => Self::Bzip2(Box::new(bzip2::Decompress::new(false))),
        }
    }

    /// For a deflate stream.
    pub(super) fn deflate(wrapper: Wrapper) -> Self {
        Self::Gzip(Box::new(match wrapper {
            Wrapper::Gzip => Decompress::new_gzip(15),
            Wrapper::Zlib => Decompress::new(true),
            Wrapper::Raw => Decompress::new(false),
        }))
    }

    /// Makes ready for another member; a zstd stream only.
    fn restart(&mut self) {
        if let Self::Zstd(context) = self {
            // It fails only in the middle of a call.
            let _ = context.reset(zstd_safe::ResetDirective::SessionOnly);
        }
    }

    /// Inflates a member in one go; see [`Inflater::deflate`].
    fn whole(&mut self, data: &[u8], out: &mut Vec<u8>, at: usize, cap: usize) -> Whole {
        let (mut consumed, mut produced) = (0, 0);
        loop {
            if out.len() <= at + produced {
                let room = FIRST.max(produced.saturating_mul(4)).min(cap + 1);
                out.resize(at + room, 0);
            }
            let end = out.len().min(at + cap + 1);
            match self.pull(&data[consumed..], &mut out[at + produced..end]) {
                Err(_) => return Whole::Bad,
                Ok(pulled) => {
                    consumed += pulled.used;
                    produced += pulled.produced;
                    if produced > cap {
                        return Whole::TooBig;
                    }
                    if pulled.done {
                        return Whole::Done { consumed, produced };
                    }
                }
            }
        }
    }

    /// Inflates until `out` is full, the member is over, or it breaks. `input` is all that is left of the file.
    pub(super) fn pull(&mut self, input: &[u8], out: &mut [u8]) -> Result<Pulled, Broken> {
        // The C interfaces count in 32 bits.
        const PART: usize = 1 << 24;
        let (mut used, mut produced) = (0, 0);
        loop {
            let part = &input[used..input.len().min(used + PART)];
            let room = &mut out[produced..];
            if room.is_empty() {
                return Ok(Pulled { used, produced, done: false });
            }
            let (u, p, end) = match self {
                Self::Gzip(inner) => {
                    let (before_in, before_out) = (inner.total_in(), inner.total_out());
                    let result = inner.decompress(part, room, FlushDecompress::None);
                    let u = (inner.total_in() - before_in) as usize;
                    let p = (inner.total_out() - before_out) as usize;
                    match result {
                        Ok(status) => (u, p, status == Status::StreamEnd),
                        Err(_) => {
                            return Err(Broken {
                                produced: produced + p,
                                why: "deflate data or checksum is wrong",
                                torn: false,
                            });
                        }
                    }
                }
                Self::Zstd(inner) => {
                    let mut source = zstd_safe::InBuffer::around(part);
                    let mut target = zstd_safe::OutBuffer::around(room);
                    let result = inner.decompress_stream(&mut target, &mut source);
                    let (u, p) = (source.pos(), target.pos());
                    match result {
                        Ok(hint) => (u, p, hint == 0),
                        Err(_) => {
                            return Err(Broken {
                                produced: produced + p,
                                why: "zstd data or checksum is wrong",
                                torn: false,
                            });
                        }
                    }
                }
                Self::Bzip2(inner) => {
                    let (before_in, before_out) = (inner.total_in(), inner.total_out());
                    let result = inner.decompress(part, room);
                    let u = (inner.total_in() - before_in) as usize;
                    let p = (inner.total_out() - before_out) as usize;
                    match result {
                        Ok(status) => (u, p, status == bzip2::Status::StreamEnd),
                        Err(_) => {
                            return Err(Broken {
                                produced: produced + p,
                                why: "bzip2 data or checksum is wrong",
                                torn: false,
                            });
                        }
                    }
                }
            };
            used += u;
            produced += p;
            if end {
                return Ok(Pulled { used, produced, done: true });
            }
            if u == 0 && p == 0 {
                return Err(Broken { produced, why: "the compressed data breaks off", torn: true });
            }
        }
    }
}
