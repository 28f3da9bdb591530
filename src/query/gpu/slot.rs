//! The memory of a batch on its way: buffers by name, and the kernels that are bound to them.

use super::topk::{BoundTopK, GpuTopK, TopKCapacity};
use crate::Result;
use crate::gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Repeats, RowArrays, Usage, View};
use std::sync::Arc;

/// A buffer of fewer bytes is made up to twice as large as its batch needs, so that the next batch fits, too.
const SMALL: u64 = 1 << 26;

/// The name of the buffer that results are copied to.
const DOWNLOAD: &str = "download";

/// Kernels that are bound together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// What they are for.
    pub what: &'static str,
    /// Tells apart several that are for the same.
    pub number: usize,
}

/// Kernels with their buffers.
#[derive(Debug)]
struct Kept {
    key: Key,
    stamp: Stamp,
    bound: Arc<[Bound]>,
}

/// Changes whenever a buffer of the caller's takes the place of another.
pub type Stamp = [u64; 3];

/// Buffers of the caller's, by the names that kernels have for them.
#[derive(Clone, Debug, Default)]
pub struct Outside<'b> {
    /// The buffers.
    pub buffers: Vec<(&'b str, &'b Buffer)>,
    /// Tells them from those before.
    pub stamp: Stamp,
}

/// Buffers for one batch at a time. They grow to what the largest batch needed.
#[derive(Debug)]
pub struct Slot {
    gpu: Gpu,
    buffers: Vec<(&'static str, Buffer)>,
    rows: RowArrays,
    /// Whenever a buffer is replaced, all of these are dropped.
    kept: Vec<Kept>,
    /// What single queries submit; dropped as well.
    pub repeats: Repeats,
    /// So many bytes of the buffer `state` are zero, or will be when the next batch begins: the one whose rows were put
    /// last, and the one whose rows come next.
    cleared: [u64; 2],
    /// What chooses the best hits, by the name of the buffer of hits.
    topk: Vec<(&'static str, BoundTopK)>,
}

impl Slot {
    /// Without buffers.
    pub fn new(gpu: &Gpu) -> Self {
        let (buffers, rows) = (Vec::new(), RowArrays::default());
        let repeats = Repeats::default();
        Self { gpu: gpu.clone(), buffers, rows, kept: Vec::new(), repeats, cleared: [0; 2], topk: Vec::new() }
    }

    /// Lets go of all that is bound to a buffer which is about to be replaced.
    fn unbind(&mut self) {
        self.kept.clear();
        self.repeats.clear();
    }

    /// Makes sure that each buffer has at least so many words.
    ///
    /// # Errors
    /// The device has less memory, or was lost.
    pub fn need(&mut self, buffers: &[(&'static str, u64)]) -> Result<(), GpuError> {
        buffers.iter().try_for_each(|&(name, words)| self.grow(name, 4 * words, Usage::Storage))
    }

    /// Makes sure that the buffer that results are copied to has at least so many bytes.
    ///
    /// # Errors
    /// As of [`Self::need`].
    pub fn need_download(&mut self, bytes: u64) -> Result<(), GpuError> {
        self.grow(DOWNLOAD, bytes, Usage::Download)
    }

    fn grow(&mut self, name: &'static str, bytes: u64, usage: Usage) -> Result<(), GpuError> {
        let known = self.buffers.iter().position(|(known, _)| *known == name);
        if known.is_some_and(|at| self.buffers[at].1.bytes() >= bytes) {
            return Ok(());
        }
        // the smaller buffer goes first: there may be no room for both
        self.unbind();
        self.topk.clear();
        self.cleared = [0; 2];
        known.map(|at| self.buffers.swap_remove(at));
        let roomy = if bytes < SMALL { bytes.next_power_of_two() } else { bytes.next_multiple_of(SMALL / 4) };
        let bytes = if roomy <= self.gpu.report().max_binding_bytes { roomy } else { bytes };
        self.buffers.push((name, self.gpu.buffer(name, bytes, usage)?));
        Ok(())
    }

    /// A buffer.
    ///
    /// # Panics
    /// If no batch needed a buffer of this name.
    pub fn buffer(&self, name: &str) -> &Buffer {
        let found = self.buffers.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("no batch needs a buffer \"{name}\"")).1
    }

    /// The buffer that results are copied to; call [`Self::need_download`] first.
    pub fn download(&self) -> &Buffer {
        self.buffer(DOWNLOAD)
    }

    /// Puts rows, as bytes, in arrays of their own, for the next submission. No batch is on its way with this slot.
    ///
    /// # Errors
    /// As of [`Self::need`].
    pub fn put(&mut self, rows: &[(&'static str, &[u8])]) -> Result<(), GpuError> {
        let sizes = rows.iter().map(|(name, bytes)| (*name, bytes.len() as u64));
        let other = self.rows.need(&self.gpu, sizes);
        if !matches!(other, Ok(false)) {
            self.unbind();
        }
        other?;
        self.cleared = [self.cleared[1], 0];
        self.rows.put(&self.gpu, rows)
    }

    /// Whether the next query will find some counters cleared.
    #[cfg(test)]
    pub fn clears(&self) -> bool {
        self.cleared[1] > 0
    }

    /// Whether so many bytes of the buffer `state` are zero for the batch whose rows were put last.
    pub fn is_cleared(&self, bytes: u64) -> bool {
        bytes <= self.cleared[0]
    }

    /// Hears that so many bytes of the buffer `state` are zero again once the batch on its way is over.
    pub fn note_cleared(&mut self, bytes: u64) {
        self.cleared[1] = bytes;
    }

    /// Writes to the start of a buffer that kernels write to as well.
    ///
    /// # Errors
    /// The device was lost, or is out of memory.
    pub fn write<T: bytemuck::NoUninit>(&self, name: &str, rows: &[T]) -> Result<(), GpuError> {
        self.gpu.write(self.buffer(name), 0, bytemuck::cast_slice(rows))
    }

    /// Binds `kernels` to the buffers that they name, of this slot or of `outside`. The result is kept until a buffer
    /// of this slot grows, or the key comes with another stamp.
    ///
    /// # Errors
    /// As of [`Gpu::bind`].
    pub fn bound<'k>(
        &mut self,
        key: Key,
        outside: &Outside<'_>,
        kernels: impl IntoIterator<Item = &'k Pipeline>,
    ) -> Result<Arc<[Bound]>, GpuError> {
        let stamp = outside.stamp;
        if let Some(kept) = self.kept.iter().find(|kept| kept.key == key && kept.stamp == stamp) {
            return Ok(Arc::clone(&kept.bound));
        }
        let mut buffers: Vec<(&str, View<'_>)> = Vec::new();
        buffers.extend(outside.buffers.iter().map(|&(name, buffer)| (name, buffer.into())));
        buffers.extend(self.buffers.iter().map(|(name, buffer)| (*name, buffer.into())));
        buffers.extend(self.rows.views());
        let bind = |kernel| self.gpu.bind(key.what, kernel, &buffers);
        let bound: Arc<[Bound]> = kernels.into_iter().map(bind).collect::<Result<_, _>>()?;
        self.kept.retain(|kept| kept.key != key);
        // those of before may hold on to buffers that the caller has given up
        self.repeats.clear();
        self.kept.push(Kept { key, stamp, bound: Arc::clone(&bound) });
        Ok(bound)
    }

    /// Gets ready what chooses the best of the hits in the buffer `hits`. The buffer `state` says how many hits there
    /// are. The results go to the buffer `best`, and `head` words of `state` behind them. It lasts until a buffer
    /// grows.
    ///
    /// # Errors
    /// As of [`GpuTopK::bind`].
    pub fn bind_topk(&mut self, topk: &GpuTopK, needed: TopKCapacity, hits: &'static str, head: u32) -> Result<()> {
        if self.topk.iter().any(|(known, bound)| *known == hits && holds(bound.capacity(), needed)) {
            return Ok(());
        }
        self.topk.retain(|(known, _)| *known != hits);
        // as many hits as the buffer holds, so that it lasts as long as the buffer
        let pairs = u32::try_from(self.buffer(hits).bytes() / 8).unwrap_or(needed.hits);
        let capacity = TopKCapacity { queries: needed.queries.next_power_of_two(), hits: pairs, ..needed };
        self.need(&[("best", capacity.result_words() + u64::from(head))])?;
        let (hit_pairs, counts, best) = (self.buffer(hits), self.buffer("state"), self.buffer("best"));
        let bound = topk.bind(&self.gpu, capacity, hit_pairs, counts, (best, head))?;
        self.topk.push((hits, bound));
        Ok(())
    }

    /// What chooses the best of the hits of this name; call [`Self::bind_topk`] first.
    ///
    /// # Panics
    /// If it is not ready.
    pub fn topk(&self, hits: &str) -> &BoundTopK {
        let found = self.topk.iter().find(|(known, _)| *known == hits);
        &found.unwrap_or_else(|| panic!("nothing chooses from \"{hits}\"")).1
    }
}

/// Whether the capacity is enough for a batch that needs `needed`.
fn holds(capacity: TopKCapacity, needed: TopKCapacity) -> bool {
    capacity.hits >= needed.hits && capacity.queries >= needed.queries && capacity.k == needed.k
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::testing::gpu;
    use crate::gpu::{Assembler, Download, Step, Text, Upload};

    #[test]
    fn test_buffers_grow_and_never_shrink() {
        let Some(gpu) = gpu() else { return };
        let mut slot = Slot::new(&gpu);
        slot.need(&[("terms", 1000), ("queries", 0)]).unwrap();
        assert_eq!((slot.buffer("terms").bytes(), slot.buffer("queries").bytes()), (4096, 16));
        slot.need(&[("terms", 1024)]).unwrap();
        assert_eq!(slot.buffer("terms").bytes(), 4096);
        slot.need(&[("terms", 1025)]).unwrap();
        slot.need(&[("terms", 1)]).unwrap();
        assert_eq!(slot.buffer("terms").bytes(), 8192);
        slot.need(&[("large", SMALL / 4 + 1)]).unwrap();
        assert_eq!(slot.buffer("large").bytes(), SMALL + SMALL / 4);
        let words = gpu.report().max_binding_bytes.min(gpu.report().max_buffer_bytes) / 4;
        assert!(slot.need(&[("larger", words + 1)]).is_err());
        assert!(slot.need(&[("terms", 3000)]).is_ok(), "the slot goes on");
    }

    /// Kernels stay bound while nothing changes, and are bound anew to a buffer of the caller's that takes the place of
    /// another, and to buffers of the slot that grew.
    #[test]
    fn test_kernels_are_bound_to_the_buffers_that_there_are() {
        let Some(gpu) = gpu() else { return };
        let text = "var<storage, read> tables: array<u32>;\n\
                    var<storage, read_write> found: array<u32>;\n\
                    @compute @workgroup_size(1)\n\
                    fn main() { found[0] = tables[0]; }\n";
        let kernel = Assembler::new().kernel("copy", Text { name: "copy", text }).unwrap();
        let pipeline = gpu.pipeline(&kernel).unwrap();
        let tables = [7u32, 8].map(|word| {
            let buffer = gpu.buffer("tables", 4, Usage::Storage).unwrap();
            Upload::default().run(&gpu, &[word], &buffer, &|_| ()).unwrap();
            buffer
        });
        let mut slot = Slot::new(&gpu);
        let key = Key { what: "copy", number: 0 };
        let copied = |slot: &mut Slot, stamp: u64, tables: &Buffer| {
            let outside = Outside { buffers: vec![("tables", tables)], stamp: [0, stamp, 0] };
            let bound = slot.bound(key, &outside, [&pipeline]).unwrap();
            let step = Step::Run { name: "copy", bound: &bound[0], immediates: &[], groups: 1 };
            gpu.submit("copy", &[step], false).unwrap();
            let mut word = [0u32];
            Download::default().run(&gpu, slot.buffer("found"), &mut word).unwrap();
            (word[0], bound)
        };
        slot.need(&[("found", 1)]).unwrap();
        let (found, first) = copied(&mut slot, 1, &tables[0]);
        let (again, second) = copied(&mut slot, 1, &tables[0]);
        assert_eq!((found, again, Arc::ptr_eq(&first, &second)), (7, 7, true));
        assert_eq!(copied(&mut slot, 2, &tables[1]).0, 8, "another buffer of the caller's");
        slot.need(&[("found", 1 << 20)]).unwrap();
        assert_eq!(copied(&mut slot, 2, &tables[1]).0, 8, "a buffer that grew");
    }
}
