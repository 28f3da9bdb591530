//! Tables of zeros on large pages.
//!
//! A table of megabytes that is read at random has each of its small pages looked up in the page tables anew, and even
//! a prefetch waits for that. On pages of 2 MiB it does not.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use memmap2::MmapMut;

/// A large page.
const LARGE: usize = 2 << 20;

/// So many elements, zeros at first, each aligned as its type is. They lie on large pages where the system gives them.
pub struct Table<T> {
    first: NonNull<T>,
    len: usize,
    /// Where they lie; `None` if there are none.
    _map: Option<MmapMut>,
}

// SAFETY: the elements are the table's own, as those of a vector are.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T: bytemuck::Pod> Table<T> {
    /// As for other memory, a process that cannot have it ends.
    pub fn zeroed(len: usize) -> Self {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= 4096) };
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize - LARGE);
        let bytes = bytes.unwrap_or_else(|| panic!("a table of {len} elements"));
        if bytes == 0 {
            return Self { first: NonNull::dangling(), len: 0, _map: None };
        }
        // room to begin with a large page; what nobody touches takes no memory
        let spare = if bytes >= LARGE { LARGE } else { 0 };
        let Ok(mut map) = MmapMut::map_anon(bytes + spare) else {
            handle_alloc_error(Layout::from_size_align(bytes, align_of::<T>()).expect("a layout of a slice"))
        };
        let start = if spare > 0 { map.as_ptr().align_offset(LARGE).min(spare) } else { 0 };
        #[cfg(target_os = "linux")]
        if spare > 0 {
            // refused, nothing is lost but time
            let _ = map.advise_range(memmap2::Advice::HugePage, start, bytes);
        }
        let first = NonNull::from(&mut map[start..]).cast();
        Self { first, len, _map: Some(map) }
    }
}

impl<T: bytemuck::Pod> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the map has room for as many elements from there on, any bytes are elements, and the place is a
        // page's or a large page's first byte, to which no type asks for more than to be aligned.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<T: bytemuck::Pod> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as of `deref`, and nobody else has the map.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug, bytemuck::Zeroable, bytemuck::Pod)]
    #[repr(C, align(32))]
    struct Line([u64; 4]);

    #[test]
    fn test_a_table_is_zeroed_aligned_and_one_s_own() {
        for len in [0, 1, 127, (LARGE / 32) - 1, LARGE / 32, 3 * LARGE / 32 + 5] {
            let (mut table, other) = (Table::<Line>::zeroed(len), Table::<Line>::zeroed(len));
            assert_eq!((table.len(), other.len()), (len, len));
            assert!(table.iter().all(|line| *line == Line([0; 4])));
            for (i, line) in table.iter_mut().enumerate() {
                assert_eq!(std::ptr::from_ref(line).align_offset(32), 0);
                *line = Line([i as u64 + 1; 4]);
            }
            assert!((0..len).all(|i| table[i] == Line([i as u64 + 1; 4])));
            assert!(other.iter().all(|line| *line == Line([0; 4])));
        }
    }
}
