//! Queries on a GPU.
//!
//! A batch of queries crosses to the device as rows, goes through a chain of passes in one submission, and comes back
//! as hits. Meanwhile the next batch is collected. There are two ways through. One goes by [`ranges`] of docIDs, the
//! best first. The other goes by [`candidates`]: the postings of the shortest list are looked up in the other lists.
//! Both ways read the same lists, which are on the device once.
//!
//! | file | its one job |
//! |---|---|
//! | `engine` | keeps what lasts between calls, and decides which way queries go |
//! | `batches` | collects batches, sends them, and hands out their answers |
//! | `slot` | holds a batch's buffers by name, and the kernels bound to them |
//! | `found` | reads what a device found for a batch |
//! | `report` | counts and times what a device did |
//! | [`residence`] | keeps lists on the device: all, or those asked for last |
//! | `entries` | what is known of each of them |
//! | [`placed`] | where a list is there |
//! | `sound` | which lists the host has looked through |
//! | [`kernels`] | has the parts that all shaders over lists share |
//! | [`rows`], `plan_rows` | turn plans into the rows that cross to the device |
//! | [`ranges`] | answers by ranges of docIDs, or by accumulators |
//! | [`candidates`] | intersects by the methods of [`super::and`] |
//! | [`recipe`], `safe_range` | have the parts that these methods consist of |
//! | `list_intersector` | intersects lists that are in no index |
//! | [`topk`] | chooses the best hits in the memory of a device |

mod batches;
pub mod candidates;
mod engine;
mod entries;
mod found;
pub mod kernels;
mod list_intersector;
pub mod placed;
mod plan_rows;
pub mod ranges;
pub mod recipe;
mod report;
pub mod residence;
pub mod rows;
pub(in crate::query) mod safe_range;
mod slot;
pub(in crate::query) mod sound;
pub mod topk;

#[cfg(test)]
mod tests;

pub(in crate::query) use candidates::Steps;
pub use engine::{GpuEngine, Options, Ready};
pub use list_intersector::ListIntersector;
pub use report::{Report, Use, Work};
