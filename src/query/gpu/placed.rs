//! Where lists are in the memory of the device, as kernels read them.

use crate::postings::{ListWords, tf};

/// Where a list is, as kernels read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Address of its first word.
    pub list: u32,
    /// Address of its skip entries, if it has several blocks.
    pub skips: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of postings.
    pub df: u32,
    /// First docID.
    pub first: u32,
    /// Address of its frequencies or impacts. If all postings have the same one: that number.
    pub tf: u32,
    /// How the frequencies are kept.
    pub kind: TfKind,
    /// Address of the table of range maxima, if it has one.
    pub table: Option<u32>,
    /// Whether that table has not been computed yet.
    pub new_table: bool,
    /// Address of its postings by range, if it has them.
    pub by_range: Option<u32>,
    /// Whether these have not been written yet.
    pub new_by_range: bool,
    /// What its best postings reach, as [`crate::score::Thresholds`].
    pub thresholds: [u32; 2],
}

/// How the frequencies or impacts of a list are kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TfKind {
    /// One number for all postings.
    #[default]
    Constant = 0,
    /// One block.
    Block = 1,
    /// A directory, and several blocks behind it.
    Directory = 2,
}

/// Addresses of the windows of the files, when all lists are there.
#[derive(Debug, Default)]
pub struct Windows {
    /// Of the postings.
    pub postings: Vec<u32>,
    /// Of the skip entries.
    pub skips: Vec<u32>,
    /// Of the frequencies or impacts.
    pub tf: Vec<u32>,
}

/// The place of a list whose parts are at these addresses.
pub fn placed_at(list: &ListWords<'_>, at: u32, skips: u32, tf: u32, impacts: bool) -> Placed {
    let (tf, kind) = match list.df as usize {
        _ if impacts => (tf, TfKind::Block),
        _ if list.tf.all_one() => (1, TfKind::Constant),
        df if df <= tf::BLOCK => (tf, TfKind::Block),
        _ => (tf, TfKind::Directory),
    };
    let blocks = list.blocks() as u32;
    let stored = list.thresholds.0;
    let thresholds = std::array::from_fn(|i| stored.get(i).copied().unwrap_or(0));
    Placed { list: at, skips, blocks, df: list.df, first: list.first, tf, kind, thresholds, ..Placed::default() }
}

/// The place of a list in files that are there as a whole.
pub fn placed_in(list: &ListWords<'_>, windows: &Windows, window: u64, impacts: Option<u64>) -> Placed {
    let address = |bases: &[u32], at: u64| {
        // the reader has checked that the parts lie in their files
        let base = bases.get((at / window) as usize).copied().unwrap_or(0);
        base.wrapping_add((at % window) as u32)
    };
    let skips = if list.skips.is_empty() { 0 } else { address(&windows.skips, list.skips_at) };
    let tf = match impacts {
        Some(at) => address(&windows.tf, at),
        None if list.tf.all_one() => 0,
        None => address(&windows.tf, list.tf_at),
    };
    placed_at(list, address(&windows.postings, list.postings_at), skips, tf, impacts.is_some())
}
