//! What orders may know of an index.

use crate::base::means::Means;
use crate::index::format::tables::Place;
use crate::index::read::reader::Index;
use crate::order::{Documents, Order, Permutation};
use crate::postings::list::List;
use crate::{Error, Result};
use std::ops::RangeInclusive;
use std::path::Path;

/// The permutation that an order means for the index at `dir`.
///
/// # Errors
/// Those of [`Order::permutation`] and [`Index::open`].
pub fn permutation(dir: &Path, order: &Order, means: &Means) -> Result<Permutation> {
    let index = Index::open(dir)?;
    index.settle(order.permutation(&index, means))
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

    fn each_url(&self, visit: &mut dyn FnMut(&str)) -> Result<()> {
        for i in 0..self.names.frames() {
            self.names.read_frame(i)?.iter().for_each(|name| visit(&name.url));
        }
        Ok(())
    }

    fn ranks(&self) -> Option<&[f32]> {
        self.pagerank()
    }

    fn lists(&self, documents: RangeInclusive<u32>) -> Result<Vec<(u32, u32)>> {
        let mut found = Vec::new();
        for id in 0..self.statistics().terms as u32 {
            let info = self.term(id)?;
            if matches!(info.place, Place::List { .. }) && documents.contains(&info.df) {
                found.push((id, info.df));
            }
        }
        Ok(found)
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
