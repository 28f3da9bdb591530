//! An open device whose every failure is a typed error.
//!
//! wgpu reports trouble in four ways: error scopes, an uncaptured-error handler, a lost callback, and
//! panics. [`Gpu`] folds them into [`GpuError`]; once the device is lost, every call says so.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::adapter::{AdapterReport, Choice, chosen, enumerate};
use super::cache::Cache;
#[cfg(not(target_vendor = "apple"))]
use super::dedicated;
use super::kernel::Clock;
use super::{GpuError, Kernel, Pipeline};

/// What arrays of buffers need: neighbouring threads may read different ones.
const BUFFER_ARRAYS: wgpu::Features = wgpu::Features::BUFFER_BINDING_ARRAY
    .union(wgpu::Features::STORAGE_RESOURCE_BINDING_ARRAY)
    .union(wgpu::Features::SAMPLED_TEXTURE_AND_STORAGE_BUFFER_ARRAY_NON_UNIFORM_INDEXING);

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Read and written by kernels, copied to and from.
    Storage,
    /// Written by the host, copied from. A new one is mapped.
    Upload,
    /// Written by the host, read by kernels where it lies. A new one is mapped.
    Shared,
    /// Copied to, read by the host.
    Download,
    /// Written by kernels where the host reads it. Kernels read it slowly if it lies behind the bus.
    Results,
}

/// A buffer of the device; freed when dropped.
#[derive(Debug)]
pub struct Buffer {
    pub(super) raw: wgpu::Buffer,
    pub(super) bytes: u64,
}

impl Buffer {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// An open device. Clones name the same one.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) device: wgpu::Device,
    pub(super) queue: ManuallyDrop<wgpu::Queue>,
    report: AdapterReport,
    features: wgpu::Features,
    /// What was compiled so far, by text and bindings: engines that come and go on one device share kernels.
    pipelines: Mutex<HashMap<String, Pipeline>>,
    /// Clocks that nobody uses at the moment.
    pub(super) clocks: Mutex<Vec<Clock>>,
    /// What earlier runs compiled.
    cache: OnceLock<Cache>,
    /// What opening took.
    opening: Duration,
    /// Why the device can no longer be used.
    fault: Arc<Mutex<Option<GpuError>>>,
    /// The most bytes of a buffer, and of one for uploads, if a test makes them fewer than the device's.
    #[cfg(test)]
    most: [AtomicU64; 2],
}

/// Buffers of up to so many bytes lie in blocks of this size, and host-visible ones of half as many. The allocator
/// keeps one empty block of a kind and gives back all others. With large blocks a ring of staging buffers filled whole
/// ones, and then each query's rows took 64 MiB from the driver and gave them back: 4 ms.
const BLOCK: u64 = 16 << 20;

/// So long the host asks a GPU again and again whether it is done, before it sleeps: waking up takes as long as a
/// short query.
const SPIN: Duration = Duration::from_micros(400);

/// What to wait for.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// Everything submitted so far.
    All,
    /// One submission, or nothing: what is idle already.
    For(Option<wgpu::SubmissionIndex>),
}

impl Shared {
    /// A large buffer with memory of its own, all zeros; `None` where that cannot be had.
    #[cfg(not(target_vendor = "apple"))]
    fn alone(&self, descriptor: &wgpu::BufferDescriptor<'_>) -> Option<wgpu::Buffer> {
        dedicated::buffer(&self.device, &self.queue, descriptor)
    }

    /// There is no Vulkan.
    #[cfg(target_vendor = "apple")]
    fn alone(&self, _: &wgpu::BufferDescriptor<'_>) -> Option<wgpu::Buffer> {
        None
    }

    /// Writes compiled kernels to their file, if there are new ones.
    fn keep_kernels(&self) {
        if let Some(cache) = self.cache.get().filter(|_| lock(&self.fault).is_none()) {
            cache.store();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.keep_kernels();
        // SAFETY: nobody else takes the queue, and nothing uses it behind this.
        let queue = unsafe { ManuallyDrop::take(&mut self.queue) };
        // wgpu waits for the device then, and may panic if the driver fails. Nobody waits for a result any more.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(queue)));
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // the values are replaced whole, so a panic elsewhere left none half-written
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    /// Opens the adapter that `choice` means, with its own limits and the features that kernels can use.
    ///
    /// # Errors
    /// No such adapter, one without immediates, or one whose driver refuses.
    pub fn open(choice: &Choice) -> Result<Self, GpuError> {
        Self::open_with_cache(choice, None)
    }

    /// As [`Self::open`]. Compiled kernels are kept in a file in `cache` until the next run, if there is such a folder
    /// and the driver can do it.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_with_cache(choice: &Choice, cache: Option<&Path>) -> Result<Self, GpuError> {
        let gpu = Self::open_alone(choice)?;
        let cache = cache.filter(|_| gpu.shared.features.contains(wgpu::Features::PIPELINE_CACHE));
        if let Some(cache) = cache.and_then(|folder| Cache::open(&gpu, folder)) {
            gpu.shared.cache.get_or_init(|| cache);
        }
        Ok(gpu)
    }

    fn open_alone(choice: &Choice) -> Result<Self, GpuError> {
        // One at a time: NVIDIA's driver has been seen to block for good when several threads open
        // devices at once.
        static OPENING: Mutex<()> = Mutex::new(());
        let _alone = lock(&OPENING);
        let start = Instant::now();
        let adapters = enumerate();
        let reports: Vec<_> = adapters.iter().enumerate().map(|(i, a)| AdapterReport::of(i, a)).collect();
        let index = chosen(&reports, choice)?;
        let (adapter, report) = (&adapters[index], reports[index].clone());
        let wanted = wgpu::Features::SHADER_INT64
            | wgpu::Features::SUBGROUP
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::PIPELINE_CACHE
            | BUFFER_ARRAYS;
        let needed = [
            (wgpu::Features::IMMEDIATES, "immediates (push constants)"),
            (wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, "buffers that the host writes and kernels read"),
        ];
        for (feature, name) in needed {
            if !adapter.features().contains(feature) {
                return Err(GpuError::Unsupported { adapter: report.name, feature: name });
            }
        }
        let features = adapter.features() & needed.into_iter().fold(wanted, |all, (feature, _)| all | feature);
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("gamut"),
            required_features: features,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::Manual { suballocated_device_memory_block_size: BLOCK..BLOCK },
            ..Default::default()
        });
        let (device, queue) = pollster::block_on(request)
            .map_err(|e| GpuError::Open { adapter: report.name.clone(), message: e.to_string() })?;
        let fault = Arc::new(Mutex::new(None));
        let lost = Arc::clone(&fault);
        device.set_device_lost_callback(move |reason, message| {
            let message = if message.is_empty() { format!("{reason:?}") } else { message };
            lock(&lost).get_or_insert(GpuError::Lost { message });
        });
        let uncaptured = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |error| {
            lock(&uncaptured).get_or_insert(typed("an operation outside any check", error));
        }));
        let queue = ManuallyDrop::new(queue);
        let (pipelines, cache, opening) = (Mutex::default(), OnceLock::new(), start.elapsed());
        Ok(Self {
            shared: Arc::new(Shared {
                device,
                queue,
                report,
                features,
                pipelines,
                clocks: Mutex::default(),
                cache,
                opening,
                fault,
                #[cfg(test)]
                most: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
            }),
        })
    }

    /// Opens all hardware GPUs; `cache` as of [`Self::open_with_cache`].
    ///
    /// # Errors
    /// As of [`Self::open`], also if there is none.
    pub fn open_all(cache: Option<&Path>) -> Result<Vec<Self>, GpuError> {
        let reports = super::adapters();
        chosen(&reports, &Choice::Auto)?;
        let hardware = reports.iter().filter(|report| report.kind.is_hardware());
        hardware.map(|report| Self::open_with_cache(&Choice::Named(report.index.to_string()), cache)).collect()
    }

    /// What the adapter says about itself.
    pub fn report(&self) -> &AdapterReport {
        &self.shared.report
    }

    /// What opening it took.
    pub fn opening(&self) -> Duration {
        self.shared.opening
    }

    /// Whether shaders may use 64-bit integers.
    pub fn int64(&self) -> bool {
        self.shared.features.contains(wgpu::Features::SHADER_INT64)
    }

    /// Smallest and largest subgroup, if shaders may use subgroup operations.
    pub fn subgroups(&self) -> Option<(u32, u32)> {
        self.shared.report.subgroups.filter(|_| self.shared.features.contains(wgpu::Features::SUBGROUP))
    }

    /// Whether kernels may have an array of buffers, of which each thread reads another one.
    pub fn buffer_arrays(&self) -> bool {
        self.shared.features.contains(BUFFER_ARRAYS)
    }

    /// Whether passes can be timed by the device.
    pub fn timestamps(&self) -> bool {
        self.shared.features.contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Destroys the device, as if it had been lost: every later call fails.
    #[cfg(test)]
    pub fn destroy(&self) {
        // wgpu learns of it at the next poll, and takes all buffers with it then, also those that somebody reads
        lock(&self.shared.fault).get_or_insert(GpuError::Lost { message: "destroyed by a test".into() });
        self.shared.device.destroy();
    }

    /// Lets no buffer have more bytes than this, and none for uploads more than that.
    #[cfg(test)]
    pub fn allow(&self, bytes: u64, upload: u64) {
        let [most, most_upload] = &self.shared.most;
        most.store(bytes, Ordering::Relaxed);
        most_upload.store(upload, Ordering::Relaxed);
    }

    /// Fails if the device is no longer usable.
    ///
    /// # Errors
    /// What made it so.
    pub fn check(&self) -> Result<(), GpuError> {
        lock(&self.shared.fault).clone().map_or(Ok(()), Err)
    }

    /// Runs `operation` and types every error of this thread's calls on the device. The operation contains only calls
    /// of wgpu, which panics if a device is lost; gamut's own code stays outside, so that its panics do not count as a
    /// lost device.
    ///
    /// # Errors
    /// What went wrong, or why the device was unusable before.
    pub(super) fn checked<T>(&self, what: &str, operation: impl FnOnce(&Shared) -> T) -> Result<T, GpuError> {
        self.check()?;
        let device = &self.shared.device;
        let guarded = catch_unwind(AssertUnwindSafe(|| {
            let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory]
                .map(|filter| device.push_error_scope(filter));
            let value = operation(&self.shared);
            // scopes close in the reverse order of their opening
            let errors: Vec<_> = scopes.into_iter().rev().filter_map(|scope| pollster::block_on(scope.pop())).collect();
            (value, errors)
        }));
        match guarded {
            Ok((value, errors)) => {
                self.check()?;
                match errors.into_iter().next() {
                    Some(error) => Err(typed(what, error)),
                    None => Ok(value),
                }
            }
            Err(_) => {
                // wgpu panics when a wait meets a lost device
                let error = GpuError::Lost { message: format!("the driver failed at {what}") };
                Err(lock(&self.shared.fault).get_or_insert(error).clone())
            }
        }
    }

    /// Makes a buffer.
    ///
    /// # Errors
    /// Over the adapter's limits, out of memory, or lost.
    pub fn buffer(&self, what: &str, bytes: u64, usage: Usage) -> Result<Buffer, GpuError> {
        let report = &self.shared.report;
        let bytes = bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT).max(16);
        let (limit, limit_name) = match usage {
            Usage::Storage | Usage::Shared | Usage::Results if report.max_binding_bytes < report.max_buffer_bytes => {
                (report.max_binding_bytes, "max_storage_buffer_binding_size")
            }
            _ => (report.max_buffer_bytes, "max_buffer_size"),
        };
        #[cfg(test)]
        let limit = limit.min(self.shared.most[usize::from(usage == Usage::Upload)].load(Ordering::Relaxed));
        if bytes > limit {
            return Err(GpuError::Limit { what: what.to_owned(), value: bytes, limit, limit_name });
        }
        // the allocator would put it into a block of its own, too
        let large = usage == Usage::Storage && bytes > BLOCK;
        // the host fills it at once
        let mapped_at_creation = matches!(usage, Usage::Upload | Usage::Shared);
        let usage = match usage {
            Usage::Storage => wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            Usage::Upload => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            Usage::Shared => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            Usage::Download => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            Usage::Results => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::STORAGE,
        };
        let descriptor = wgpu::BufferDescriptor { label: Some(what), size: bytes, usage, mapped_at_creation };
        let raw = self.checked(what, |s| {
            let alone = if large { s.alone(&descriptor) } else { None };
            alone.unwrap_or_else(|| s.device.create_buffer(&descriptor))
        })?;
        Ok(Buffer { raw, bytes })
    }

    /// Compiles a kernel, unless this device has compiled the same one before.
    ///
    /// # Errors
    /// The shader or its bindings are wrong, it needs more than the adapter has, or the device is lost.
    pub fn pipeline(&self, kernel: &Kernel) -> Result<Pipeline, GpuError> {
        #[cfg(test)]
        let kernel = &super::testing::tap(self).map_or_else(|| kernel.clone(), |tap| (tap.edit)(kernel));
        // wgpu does not check this, and a driver may hang
        let limit = self.shared.report.workgroup_memory_bytes;
        if kernel.workgroup_bytes > limit {
            return Err(GpuError::Limit {
                what: format!("workgroup memory of {}", kernel.name),
                value: kernel.workgroup_bytes.into(),
                limit: limit.into(),
                limit_name: "max_compute_workgroup_storage_size",
            });
        }
        self.check()?;
        let key = format!("{:?}\n{}", kernel.bindings, kernel.source);
        if let Some(pipeline) = lock(&self.shared.pipelines).get(&key) {
            return Ok(pipeline.clone());
        }
        let cache = self.shared.cache.get();
        let pipeline =
            self.checked(kernel.name, |s| Pipeline::new(&s.device, kernel, cache.map(|cache| &cache.raw)))?;
        if let Some(cache) = cache {
            cache.note(&key);
        }
        lock(&self.shared.pipelines).insert(key, pipeline.clone());
        Ok(pipeline)
    }

    /// Compiles kernels on all cores.
    ///
    /// # Errors
    /// As of [`Self::pipeline`].
    pub fn pipelines<'k>(&self, kernels: impl IntoIterator<Item = &'k Kernel>) -> Result<Vec<Pipeline>, GpuError> {
        let kernels: Vec<&Kernel> = kernels.into_iter().collect();
        let compiled: Vec<_> = kernels.into_par_iter().map(|kernel| self.pipeline(kernel)).collect();
        // now, for a program that leaves in haste
        self.shared.keep_kernels();
        compiled.into_iter().collect()
    }

    /// Waits for submitted work, and runs the callbacks of finished mappings.
    ///
    /// # Errors
    /// The device was lost.
    pub(super) fn wait(&self, what: &str, until: Wait) -> Result<(), GpuError> {
        let poll = match until {
            Wait::All => wgpu::PollType::wait_indefinitely(),
            Wait::For(Some(submission)) => wgpu::PollType::Wait { submission_index: Some(submission), timeout: None },
            Wait::For(None) => wgpu::PollType::Poll,
        };
        self.checked(what, |s| s.device.poll(poll))?
            .map(|_| ())
            .map_err(|e| GpuError::Refused { what: what.to_owned(), message: e.to_string() })
    }

    /// Maps whole buffers for the host, all of them or none, once `until` is over.
    ///
    /// # Errors
    /// The device was lost, or a mapping failed.
    pub(super) fn map(
        &self,
        what: &str,
        mode: wgpu::MapMode,
        parts: &[wgpu::BufferSlice<'_>],
        until: Wait,
    ) -> Result<(), GpuError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.checked(what, |_| {
            for part in parts {
                let sender = sender.clone();
                // the receiver outlives the wait below; a late answer is dropped
                part.map_async(mode, move |result| {
                    let _ = sender.send(result.is_ok());
                });
            }
        })?;
        let mut mapped = 0;
        let start = Instant::now();
        // a software adapter needs the cores itself
        let spins = matches!(until, Wait::For(Some(_))) && self.report().kind.is_hardware();
        while spins && mapped < parts.len() && start.elapsed() < SPIN {
            self.wait(what, Wait::For(None))?;
            mapped += receiver.try_iter().filter(|&ok| ok).count();
        }
        if mapped < parts.len() {
            self.wait(what, until)?;
            mapped += receiver.try_iter().filter(|&ok| ok).count();
        }
        self.check()?;
        if mapped == parts.len() {
            return Ok(());
        }
        Err(GpuError::Lost { message: format!("{what} could not be mapped") })
    }
}

fn typed(what: &str, error: wgpu::Error) -> GpuError {
    let what = what.to_owned();
    match error {
        wgpu::Error::OutOfMemory { .. } => GpuError::OutOfMemory { what },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            GpuError::Refused { what, message: description }
        }
    }
}
