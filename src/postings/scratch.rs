//! Room for decoded blocks, used again by the next cursor of the same thread.

use crate::base::bits::UNPACKED;
use crate::codec::MAX_BLOCK_LEN;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// What one cursor decodes into. It still contains what the last user left.
pub struct Buffers {
    /// DocIDs of a block.
    pub docs: [u32; MAX_BLOCK_LEN],
    /// Frequencies of a block.
    pub tfs: [u32; UNPACKED],
}

/// Buffers that go back to their thread when dropped: a query makes a cursor per term, and clearing fresh memory for
/// each would cost more than many a query.
pub struct Scratch(ManuallyDrop<Box<Buffers>>);

/// More idle buffers than this are freed.
const KEPT: usize = 64;

thread_local! {
    #[allow(clippy::vec_box, reason = "buffers change hands without being copied")]
    static IDLE: RefCell<Vec<Box<Buffers>>> = const { RefCell::new(Vec::new()) };
}

impl Scratch {
    /// Idle buffers, or new ones.
    pub fn take() -> Self {
        // A thread that is ending has no idle buffers any more.
        let idle = IDLE.try_with(|idle| idle.borrow_mut().pop()).ok().flatten();
        let new = || Box::new(Buffers { docs: [0; MAX_BLOCK_LEN], tfs: [0; UNPACKED] });
        Self(ManuallyDrop::new(idle.unwrap_or_else(new)))
    }
}

impl Deref for Scratch {
    type Target = Buffers;

    #[inline]
    fn deref(&self) -> &Buffers {
        &self.0
    }
}

impl DerefMut for Scratch {
    #[inline]
    fn deref_mut(&mut self) -> &mut Buffers {
        &mut self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes them, and nothing reads them afterwards.
        let buffers = unsafe { ManuallyDrop::take(&mut self.0) };
        let _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < KEPT {
                idle.push(buffers);
            }
        });
    }
}
