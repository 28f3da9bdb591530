//! Gzip members made by libdeflate.

use std::ptr::NonNull;

/// A libdeflate compressor; one a thread.
pub(super) struct Compressor(NonNull<libdeflate_sys::libdeflate_compressor>);

impl Compressor {
    /// `level`: 0 to 12.
    ///
    /// # Panics
    /// If the level is out of range or memory is out.
    pub(super) fn new(level: u8) -> Self {
        // SAFETY: the function takes any level and answers null for one it does not know.
        let raw = unsafe { libdeflate_sys::libdeflate_alloc_compressor(i32::from(level)) };
        Self(NonNull::new(raw).expect("libdeflate takes levels 0 to 12"))
    }

    /// Appends `data` to `out` as one gzip member.
    pub(super) fn append_member(&mut self, data: &[u8], out: &mut Vec<u8>) {
        // SAFETY: the compressor is valid; the function only computes.
        let bound = unsafe { libdeflate_sys::libdeflate_gzip_compress_bound(self.0.as_ptr(), data.len()) };
        out.reserve(bound);
        let spare = out.spare_capacity_mut();
        // SAFETY: `data` is readable and `spare` writable for the lengths given, they do not overlap,
        // and `&mut self` keeps other threads away from the compressor.
        let written = unsafe {
            libdeflate_sys::libdeflate_gzip_compress(
                self.0.as_ptr(),
                data.as_ptr().cast(),
                data.len(),
                spare.as_mut_ptr().cast(),
                spare.len(),
            )
        };
        assert!(written > 0, "libdeflate kept its own bound of {bound} bytes");
        // SAFETY: libdeflate has written that many bytes into the spare capacity.
        unsafe { out.set_len(out.len() + written) };
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: allocated by `libdeflate_alloc_compressor`, freed once.
        unsafe { libdeflate_sys::libdeflate_free_compressor(self.0.as_ptr()) };
    }
}
