//! Files of gzip members, one behind the other. Zeros behind a member, with which tapes and block devices fill up, are
//! passed over. `gzip -dc` does so at the end of a file; here a member may follow, and anything else is an error.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// Inflates all members of a file.
pub struct Members<R> {
    place: Place<R>,
}

enum Place<R> {
    In(Box<GzDecoder<R>>),
    /// Behind a member.
    Behind(R),
    End,
}

impl<R: BufRead> Members<R> {
    /// Of a source that begins with one.
    pub fn new(source: R) -> Self {
        Self { place: Place::In(Box::new(GzDecoder::new(source))) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.place {
                Place::In(member) => {
                    let read = member.read(out)?;
                    if read > 0 {
                        return Ok(read);
                    }
                }
                Place::Behind(source) => {
                    let next = source.fill_buf()?;
                    let (zeros, all) = (next.iter().take_while(|&&byte| byte == 0).count(), next.len());
                    source.consume(zeros);
                    if 0 < all && zeros == all {
                        continue;
                    }
                    self.next(all > 0);
                    continue;
                }
                Place::End => return Ok(0),
            }
            self.next(true);
        }
    }
}

impl<R: BufRead> Members<R> {
    /// Goes from a member behind it, and from there to the next one, if there is `more`.
    fn next(&mut self, more: bool) {
        self.place = match std::mem::replace(&mut self.place, Place::End) {
            Place::In(member) => Place::Behind(member.into_inner()),
            Place::Behind(source) if more => Place::In(Box::new(GzDecoder::new(source))),
            Place::Behind(_) | Place::End => Place::End,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Write as _};

    fn member(text: &str) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    }

    fn read(bytes: &[u8], buffer: usize) -> io::Result<String> {
        let mut text = String::new();
        Members::new(BufReader::with_capacity(buffer, bytes)).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn test_members_and_zeros() {
        let (a, b, none) = (member("one\n"), member("two\n"), member(""));
        for buffer in [1, 3, 64, 4096] {
            for zeros in [0, 1, 3, 512, 5000] {
                let padding = vec![0; zeros];
                let all = [&a[..], &padding, &none, &b, &padding].concat();
                assert_eq!(read(&all, buffer).unwrap(), "one\ntwo\n", "{zeros} zeros, {buffer} bytes at a time");
            }
            assert!(read(&a[..a.len() - 1], buffer).is_err(), "torn");
            assert!(read(&[&a[..], &[0, 0, 7]].concat(), buffer).is_err(), "neither zeros nor a member");
            assert!(read(&[&a[..], &[0, 0], &b[..9]].concat(), buffer).is_err(), "torn behind zeros");
        }
    }

    #[test]
    fn test_an_error_does_not_end_the_file() {
        /// Fails once where a member has ended.
        struct Once<'a>(&'a [u8], usize, bool);
        impl Read for Once<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let read = self.fill_buf()?.read(out)?;
                self.consume(read);
                Ok(read)
            }
        }
        impl BufRead for Once<'_> {
            fn fill_buf(&mut self) -> io::Result<&[u8]> {
                if self.1 == 0 && !std::mem::replace(&mut self.2, true) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(&self.0[..if self.1 == 0 { self.0.len() } else { self.1 }])
            }
            fn consume(&mut self, bytes: usize) {
                self.0 = &self.0[bytes..];
                self.1 = self.1.saturating_sub(bytes);
            }
        }
        let (a, b) = (member("one\n"), member("two\n"));
        let all = [&a[..], &b].concat();
        let mut members = Members::new(Once(&all, a.len(), false));
        let mut text = String::new();
        assert_eq!(members.read_to_string(&mut text).unwrap_err().kind(), io::ErrorKind::TimedOut);
        members.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }
}
