//! Where comments of HTML end, by its standard: `<!-->` and `<!--->` are whole ones, and `--!>` ends one, too.

use memchr::memmem;

/// After a comment whose `<!--` ends at `pos`; `None` if nothing closes it.
pub fn end(input: &[u8], mut pos: usize) -> Option<usize> {
    for ending in [&b">"[..], b"->"] {
        if input[pos..].starts_with(ending) {
            return Some(pos + ending.len());
        }
    }
    while let Some(found) = memmem::find(&input[pos..], b"--") {
        pos += found;
        for ending in [&b"-->"[..], b"--!>"] {
            if input[pos..].starts_with(ending) {
                return Some(pos + ending.len());
            }
        }
        pos += 1;
    }
    None
}
