//! Files in the user's cache: what gamut can make again, checked before it is believed.
//!
//! A file is taken only if it is whole, and if nobody but the user can write to it. Anything else is as no file.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | what sort of file it is |
//! | 8 | XXH3 of the rest |
//! | 4 and n | length of a text, and the text: what the content is for |
//! | rest | the content |
//!
//! Numbers are little-endian.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::whole::WholeFile;

/// The user's folder for what gamut can make again: `gamut` in `$XDG_CACHE_HOME` or else in `~/.cache`. `None` without
/// such a place in the environment.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("gamut"))
}

/// The bytes of a file.
pub fn seal(sort: &[u8; 8], identity: &str, content: &[u8]) -> Vec<u8> {
    let length = (identity.len() as u32).to_le_bytes();
    let rest = [&length, identity.as_bytes(), content].concat();
    [sort, &xxh3_64(&rest).to_le_bytes(), &*rest].concat()
}

/// What a file is for, and its content; `None` if it is damaged or of another sort.
pub fn unseal<'b>(sort: &[u8; 8], bytes: &'b [u8]) -> Option<(&'b str, &'b [u8])> {
    let (checksum, rest) = bytes.strip_prefix(sort)?.split_first_chunk()?;
    if u64::from_le_bytes(*checksum) != xxh3_64(rest) {
        return None;
    }
    let (length, rest) = rest.split_first_chunk()?;
    let (text, content) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((std::str::from_utf8(text).ok()?, content))
}

/// Reads a file of at most `most` bytes that nobody but the user of this process can write to.
///
/// # Errors
/// It cannot be read, is no plain file, is too large, or others may write to it.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    // SAFETY: the call has no conditions.
    let own = meta.uid() == unsafe { libc::geteuid() };
    if !meta.is_file() || !own || meta.mode() & 0o022 != 0 || meta.len() > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    // it may grow meanwhile
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file at once, with one that only the user can read and write.
///
/// # Errors
/// The folder cannot be made, or the file not be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = WholeFile::create(path, 0o600)?;
    file.write_all(bytes)?;
    file.replace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    const SORT: &[u8; 8] = b"GAMUTTST";

    #[test]
    fn test_a_damaged_file_has_nothing() {
        let bytes = seal(SORT, "this", b"content");
        assert_eq!(unseal(SORT, &bytes), Some(("this", &b"content"[..])));
        assert_eq!(unseal(SORT, &seal(SORT, "", b"")), Some(("", &b""[..])));
        assert_eq!(unseal(b"GAMUTOTH", &bytes), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert_eq!(unseal(SORT, &damaged), None, "byte {at}");
            assert_eq!(unseal(SORT, &bytes[..at]), None, "{at} bytes");
        }
        // lengths behind the end and a text that is none, with the right checksum
        for rest in [&[9u8, 0, 0, 0, b'x'][..], &[0, 0], &[1, 0, 0, 0, 0xff]] {
            let bytes = [SORT, &xxh3_64(rest).to_le_bytes(), rest].concat();
            assert_eq!(unseal(SORT, &bytes), None);
        }
    }

    #[test]
    fn test_only_files_of_the_user_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"new");
        assert!(read(&path, 2).is_err(), "too large");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path().join("a/b")).unwrap().count(), 1, "nothing is left beside it");
        std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
        assert!(read(&dir.path().join("link"), 3).is_err());
        assert!(read(dir.path(), 3).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(read(&path, 3).is_err());
        assert!(write(Path::new("/proc/none/file"), b"").is_err());
    }
}
