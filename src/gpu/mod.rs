//! The only place that names wgpu: adapter, kernels, buffers, timing, shader assembly.

/// What can go wrong with a GPU.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter at all.
    #[error("no GPU adapter found; install a Vulkan driver, or use --sorter cpu")]
    NoAdapter,
}
