//! What orders may know of an index.

use crate::base::means::Means;
use crate::index::change::reorder::{Reorder, Reordered, ready, reordered};
use crate::index::format::docs::DocName;
use crate::index::format::manifest::index_at;
use crate::index::format::tables;
use crate::index::read::reader::Index;
use crate::index::write::output::each;
use crate::index::write::unfinished::{Unfinished, hold};
use crate::index::write::writer::Extras;
use crate::order::{Documents, Order, Permutation};
use crate::postings::list::List;
use crate::{Error, Result};
use rayon::prelude::*;
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xxhash_rust::xxh3::Xxh3;

/// So many frames of names a thread are read at a time.
const FRAMES: usize = 4;

/// The permutation that an order means for the index at `dir`.
///
/// # Errors
/// Those of [`Order::permutation`] and [`Index::open`].
pub fn permutation(dir: &Path, order: &Order, means: &Means) -> Result<Permutation> {
    let index = Index::open(dir)?;
    index.settle(order.permutation(&index, means))
}

/// Where a reordered index goes.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Its directory; over the old one if there is no path.
    pub output: Option<&'a Path>,
    /// Whether an index at `output` may be replaced.
    pub force: bool,
    /// The file of the permutation; beside the index if there is no path.
    pub text: Option<&'a Path>,
}

/// What was done.
pub struct Ordered {
    /// The index, and what its parts were and are.
    pub index: Reordered,
    /// The file with the permutation.
    pub permutation: PathBuf,
    /// Seconds to find the order.
    pub order_seconds: f64,
}

/// Gives the documents of the index at `dir` another order. The permutation is written to a file.
///
/// # Errors
/// Those of [`Order::permutation`], [`write_text`] and [`reorder`](super::reorder::reorder); then nothing is there but
/// what was there before.
pub fn put_in_order(dir: &Path, order: &Order, place: Place<'_>, extras: Extras<'_>) -> Result<Ordered> {
    let dir = index_at(dir)?;
    // The permutation is one of the documents that are there now: nobody may put others in their place.
    let _held = place.output.is_none().then(|| hold(&dir)).transpose()?;
    let index = Index::open(&dir)?;
    // An order may take long to find.
    let means = index.settle(ready(&index, &dir, (place.output, place.force), extras.means))?;
    if let Some(path) = place.text.filter(|path| path.exists()) {
        return Err(Error::Exists { path: path.to_owned() });
    }
    let began = Instant::now();
    let permutation = index.settle(order.permutation(&index, extras.means))?;
    let order_seconds = began.elapsed().as_secs_f64();
    let change = Reorder {
        permutation: &permutation,
        order: order.to_string(),
        output: place.output,
        force: place.force,
        impacts: extras.impacts,
        tables: extras.tables,
        means,
    };
    // Before the index: a permutation that cannot be written must not be lost.
    let text = write_text(place.text, place.output.unwrap_or(&dir), &permutation)?;
    let done = reordered(&index, &dir, &change).map_err(|error| index.cause(error));
    let done = done.inspect_err(|_| text.take_back())?;
    Ok(Ordered { index: done, permutation: text.path, order_seconds })
}

/// The text of a permutation that an index has, or is about to.
pub struct Text {
    /// The file.
    pub path: PathBuf,
    is_new: bool,
}

impl Text {
    /// Removes the file if it was not there before.
    pub fn take_back(&self) {
        if self.is_new {
            // The error that brings us here says more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes the text of a permutation, to a new file at `path` or else beside the index, in one step. Beside the index a
/// file of the same text, which a process may have left that was killed, is taken as it is.
///
/// # Errors
/// [`Error::Exists`], [`Error::Io`].
pub fn write_text(path: Option<&Path>, index: &Path, permutation: &Permutation) -> Result<Text> {
    if let Some(path) = path {
        permutation.write(path)?;
        return Ok(Text { path: path.to_owned(), is_new: true });
    }
    let hidden = Unfinished::beside(index)?;
    let text = hidden.path().join("order");
    permutation.write(&text)?;
    let sum = |path: &Path| -> Result<u64> {
        let mut hash = Xxh3::new();
        let file = File::open(path).map_err(Error::io("open", path))?;
        each(file, path, |part| {
            hash.update(part);
            Ok(())
        })?;
        Ok(hash.digest())
    };
    File::open(&text).and_then(|file| file.sync_all()).map_err(Error::io("sync", &text))?;
    let (bytes, digest) = (fs::metadata(&text).map_err(Error::io("look at", &text))?.len(), sum(&text)?);
    for path in Permutation::paths_beside(index) {
        match fs::hard_link(&text, &path) {
            Ok(()) => return Ok(Text { path, is_new: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = fs::metadata(&path).map_err(Error::io("look at", &path))?;
                if there.is_file() && there.len() == bytes && sum(&path)? == digest {
                    return Ok(Text { path, is_new: false });
                }
            }
            // A file system without links.
            Err(_) if !path.exists() => {
                fs::rename(&text, &path).map_err(Error::io("rename to", &path))?;
                return Ok(Text { path, is_new: true });
            }
            Err(_) => {}
        }
    }
    Err(Error::Exists { path: text })
}

impl Documents for Index {
    fn count(&self) -> u32 {
        self.statistics().documents as u32
    }

    fn order(&self) -> &str {
        &self.manifest().order
    }

    fn input_places(&self) -> Option<&[u32]> {
        Index::input_places(self)
    }

    fn each_url(&self, means: &Means, visit: &mut dyn FnMut(&str)) -> Result<()> {
        let (frames, some) = (self.names.frames(), FRAMES * rayon::current_num_threads());
        for start in (0..frames).step_by(some) {
            means.go_on()?;
            let frames = (start..frames.min(start + some)).into_par_iter();
            let names: Vec<Vec<DocName>> = frames.map(|i| self.names.read_frame(i)).collect::<Result<_>>()?;
            let names = names.iter().flatten();
            names.for_each(|name| visit(if name.url.is_empty() { &name.id } else { &name.url }));
        }
        Ok(())
    }

    fn ranks(&self) -> Option<&[f32]> {
        self.pagerank()
    }

    fn lists(&self, documents: RangeInclusive<u32>) -> Result<Vec<(u32, u32)>> {
        let list = |id: u32| -> Result<Option<(u32, u32)>> {
            let info = self.term(id)?;
            let is_list = matches!(info.place, tables::Place::List { .. }) && documents.contains(&info.df);
            Ok(is_list.then_some((id, info.df)))
        };
        (0..self.statistics().terms as u32).into_par_iter().filter_map(|id| list(id).transpose()).collect()
    }

    fn read(&self, list: u32, out: &mut Vec<u32>) -> Result<()> {
        match self.list(&self.term(list)?, self.codec(None)?)? {
            List::Blocks(words) => words.decode_all(out),
            List::Single { .. } => Err(Error::Invalid {
                what: format!("list {list}"),
                why: "is of one document, which stands in the dictionary".to_owned(),
            }),
        }
    }
}
