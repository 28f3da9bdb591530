//! Kernels as plain data, and passes of them.

use super::device::{Wait, lock};
use super::{Buffer, Gpu, GpuError, Usage};
use std::num::{NonZeroU32, NonZeroU64};

/// How a kernel uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and written.
    ReadWrite,
}

/// A storage buffer that a kernel works on, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What the kernel calls it.
    pub name: String,
    /// What the kernel does with it.
    pub access: Access,
    /// Buffers of the array, which callers name by numbers behind the name; `None`: it is one buffer.
    pub count: Option<NonZeroU32>,
}

impl Binding {
    /// One buffer.
    pub fn one(name: &str, access: Access) -> Self {
        Self { name: name.to_owned(), access, count: None }
    }

    /// What callers name its buffers.
    fn names(&self) -> Vec<String> {
        match self.count {
            None => vec![self.name.clone()],
            Some(count) => (0..count.get()).map(|number| format!("{}{number}", self.name)).collect(),
        }
    }
}

/// A buffer or a part of one, for a kernel.
#[derive(Clone, Copy, Debug)]
pub struct View<'b> {
    /// The buffer.
    pub buffer: &'b Buffer,
    /// Where it begins, in bytes: a multiple of 256.
    pub at: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

impl<'b> From<&'b Buffer> for View<'b> {
    fn from(buffer: &'b Buffer) -> Self {
        Self { buffer, at: 0, bytes: buffer.bytes() }
    }
}

/// A compute shader, its text and its demands on the caller, as an [`Assembler`](super::Assembler) makes it. The entry
/// point is `main`, bindings are storage buffers of group 0, and parameters come as one `var<immediate>`.
///
/// # Trust
/// Kernels are compiled without run-time checks of array bounds and loops: their authors prove that
/// every index stays inside its buffer for the parameters they send.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// For messages and labels.
    pub name: &'static str,
    /// The assembled WGSL.
    pub source: String,
    /// How binding `i` of group 0 is used.
    pub bindings: Vec<Binding>,
    /// Bytes of parameters.
    pub immediate_bytes: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// What the assembler was given, and whether a text asked for it.
    pub given: Vec<(String, bool)>,
}

/// A grid (x, y) of at most `max` workgroups a dimension that holds at least `groups` of them. A kernel numbers its
/// workgroup `y * num_workgroups.x + x` and returns at once if the number is not below the count it was told; fewer
/// than y workgroups do so.
///
/// # Panics
/// If `groups` is over `max` squared; the buffers of such a dispatch exceed every limit.
pub fn grid(groups: u32, max: u32) -> (u32, u32) {
    let y = groups.div_ceil(max).max(1);
    assert!(y <= max, "{groups} workgroups do not fit a grid of {max} by {max}");
    (groups.div_ceil(y), y)
}

/// A compiled kernel. Clones name the same one.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(super) raw: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) bindings: Vec<Binding>,
    pub(super) immediate_bytes: u32,
}

impl Pipeline {
    pub(super) fn new(device: &wgpu::Device, kernel: &Kernel, cache: Option<&wgpu::PipelineCache>) -> Self {
        let entries: Vec<_> = (0u32..)
            .zip(&kernel.bindings)
            .map(|(binding, Binding { access, count, .. })| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: *access == Access::Read },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: *count,
            })
            .collect();
        let label = Some(kernel.name);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: kernel.immediate_bytes,
        });
        let source = wgpu::ShaderSource::Wgsl(kernel.source.as_str().into());
        let descriptor = wgpu::ShaderModuleDescriptor { label, source };
        // SAFETY: `Kernel` demands proof from its author that indexes stay in bounds and loops end;
        // kernels are part of this crate, never input.
        let module = unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
        let raw = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // kernels write workgroup memory before they read it
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache,
        });
        Self { raw, layout, bindings: kernel.bindings.clone(), immediate_bytes: kernel.immediate_bytes }
    }

    /// Picks the buffers that the kernel asks for, those of each binding.
    pub(super) fn pick<'b, V: Copy + Into<View<'b>>>(
        &self,
        what: &str,
        buffers: &[(&str, V)],
    ) -> Result<Vec<Vec<wgpu::BufferBinding<'b>>>, GpuError> {
        let pick = |name: String| {
            let found = buffers.iter().find(|(known, _)| *known == name);
            let (_, view) = found.ok_or_else(|| GpuError::Refused {
                what: what.to_owned(),
                message: format!("there is no buffer \"{name}\""),
            })?;
            let View { buffer, at, bytes } = (*view).into();
            Ok(wgpu::BufferBinding { buffer: &buffer.raw, offset: at, size: NonZeroU64::new(bytes) })
        };
        self.bindings.iter().map(|binding| binding.names().into_iter().map(pick).collect()).collect()
    }

    /// The entries of a bind group of these.
    pub(super) fn entries<'b>(&self, picked: &'b [Vec<wgpu::BufferBinding<'b>>]) -> Vec<wgpu::BindGroupEntry<'b>> {
        let resource = |binding: &Binding, buffers: &'b [wgpu::BufferBinding<'b>]| match binding.count {
            None => wgpu::BindingResource::Buffer(buffers[0].clone()),
            Some(_) => wgpu::BindingResource::BufferArray(buffers),
        };
        let entries = (0u32..).zip(self.bindings.iter().zip(picked));
        entries
            .map(|(number, (binding, buffers))| wgpu::BindGroupEntry {
                binding: number,
                resource: resource(binding, buffers),
            })
            .collect()
    }
}

/// One dispatch of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// What runs.
    pub pipeline: &'a Pipeline,
    /// Its buffers, by the names that the kernel has for them.
    pub buffers: &'a [(&'a str, &'a Buffer)],
    /// Its parameters, as the kernel's `Params` lays them out.
    pub immediates: &'a [u8],
    /// Number of workgroups; [`grid`] splits more than one dimension holds.
    pub groups: u32,
}

impl Gpu {
    /// Runs `dispatches` one after the other, each seeing what the ones before wrote, and waits.
    /// Returns the seconds they took, by the device's clock if it has one, else by the host's.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn run(&self, what: &str, dispatches: &[Dispatch<'_>]) -> Result<f64, GpuError> {
        #[cfg(test)]
        if let Some(tap) = super::testing::tap(self) {
            return tap.run(self, what, dispatches);
        }
        self.run_at_once(what, dispatches)
    }

    /// As [`Self::run`].
    pub(super) fn run_at_once(&self, what: &str, dispatches: &[Dispatch<'_>]) -> Result<f64, GpuError> {
        let start = std::time::Instant::now();
        let clock = if self.timestamps() { Some(Clock::take(self, 2)?) } else { None };
        let max = self.report().max_workgroups;
        let mut ready = Vec::with_capacity(dispatches.len());
        for dispatch in dispatches {
            let expected = dispatch.pipeline.immediate_bytes as usize;
            assert_eq!(dispatch.immediates.len(), expected, "parameters of {what}");
            ready.push((dispatch.pipeline.pick(what, dispatch.buffers)?, grid(dispatch.groups, max)));
        }
        self.checked(what, |shared| {
            let mut encoder = shared.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some(what),
                    timestamp_writes: clock.as_ref().map(|clock| clock.writes(0)),
                });
                for (dispatch, (picked, (x, y))) in dispatches.iter().zip(&ready) {
                    let group = shared.device.create_bind_group(&wgpu::BindGroupDescriptor {
                        label: Some(what),
                        layout: &dispatch.pipeline.layout,
                        entries: &dispatch.pipeline.entries(picked),
                    });
                    pass.set_pipeline(&dispatch.pipeline.raw);
                    pass.set_bind_group(0, &group, &[]);
                    if !dispatch.immediates.is_empty() {
                        pass.set_immediates(0, dispatch.immediates);
                    }
                    pass.dispatch_workgroups(*x, *y, 1);
                }
            }
            if let Some(clock) = &clock {
                clock.resolve(&mut encoder);
            }
            shared.queue.submit([encoder.finish()])
        })?;
        match clock {
            Some(clock) => clock.seconds(self, Wait::All).map(|ticks| ticks[1]),
            None => {
                self.wait(what, Wait::All)?;
                Ok(start.elapsed().as_secs_f64())
            }
        }
    }
}

/// A clock has room for so many timestamps at least, so that the next one that is asked for can be the same.
const LEAST_ROOM: u32 = 64;

/// Device timestamps.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    resolved: Buffer,
    readable: Buffer,
    /// There is room for so many,
    room: u32,
    /// and so many are taken.
    count: u32,
}

impl Clock {
    /// For `count` timestamps. A clock that was read before is used again: an allocator may ask the driver for memory
    /// whenever a buffer is made, and on an H200 several thousand queries then took more than half a minute.
    pub(super) fn take(gpu: &Gpu, count: u32) -> Result<Self, GpuError> {
        let ready = lock(&gpu.shared.clocks).pop().filter(|clock| clock.room >= count);
        match ready {
            Some(clock) => Ok(Self { count, ..clock }),
            None => Self::new(gpu, count, count.next_power_of_two().max(LEAST_ROOM)),
        }
    }

    fn new(gpu: &Gpu, count: u32, room: u32) -> Result<Self, GpuError> {
        let size = 8 * u64::from(room);
        let (queries, raw) = gpu.checked("timestamps", |s| {
            let queries = s.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: room,
            });
            let resolved = s.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timestamps"),
                size,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (queries, resolved)
        })?;
        let readable = gpu.buffer("timestamps", size, Usage::Download)?;
        Ok(Self { queries, resolved: Buffer { raw, bytes: size }, readable, room, count })
    }

    /// Gives a pass timestamps `first` and `first + 1`.
    pub(super) fn writes(&self, first: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        }
    }

    /// Copies the timestamps to memory that the host can read.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..self.count, &self.resolved.raw, 0);
        encoder.copy_buffer_to_buffer(&self.resolved.raw, 0, &self.readable.raw, 0, 8 * u64::from(self.count));
    }

    /// Waits for `until`, behind which the timestamps are there; returns each in seconds after the first.
    pub(super) fn seconds(self, gpu: &Gpu, until: Wait) -> Result<Vec<f64>, GpuError> {
        gpu.map("timestamps", wgpu::MapMode::Read, &[self.readable.raw.slice(..)], until)?;
        let ticks: Option<Vec<u64>> = gpu.checked("timestamps", |_| {
            let view = self.readable.raw.slice(..).get_mapped_range().ok()?;
            Some(view.chunks_exact(8).map(bytemuck::pod_read_unaligned).take(self.count as usize).collect())
        })?;
        self.readable.raw.unmap();
        let ticks = ticks.ok_or(GpuError::Lost { message: "timestamps could not be read".into() })?;
        lock(&gpu.shared.clocks).push(self);
        let period = f64::from(gpu.shared.queue.get_timestamp_period()) * 1e-9;
        Ok(ticks.iter().map(|tick| tick.saturating_sub(ticks[0]) as f64 * period).collect())
    }
}
