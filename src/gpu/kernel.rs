//! Kernels as plain data, their assembly, and passes of them.

use std::fmt::Write as _;

use super::device::Wait;
use super::{Buffer, Gpu, GpuError, Usage};

/// How a kernel uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and written.
    ReadWrite,
}

/// A compute shader: text and what it expects of its caller. The entry point is `main`, bindings are
/// storage buffers of group 0, and parameters come as one `var<immediate>`.
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
    /// Binding `i` of group 0 is used so.
    pub bindings: Vec<Access>,
    /// Bytes of parameters.
    pub immediate_bytes: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
}

/// WGSL declarations of `u32` constants: every number has its home in Rust and is printed in front of
/// the text that uses it.
pub fn constants(values: &[(&str, u32)]) -> String {
    values.iter().fold(String::new(), |mut text, (name, value)| {
        // writing to a String cannot fail
        let _ = writeln!(text, "const {name}: u32 = {value}u;");
        text
    })
}

/// Repeats the lines between `//[` and `//]` once for each of `0..count`, with `@` replaced by the
/// number, so that values that a loop would index stay in registers.
pub fn unroll(text: &str, count: u32) -> String {
    let mut out = String::with_capacity(text.len() * 4);
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (line.trim(), block.as_mut()) {
            ("//[", _) => block = Some(String::new()),
            ("//]", Some(lines)) => {
                for i in 0..count {
                    out.push_str(&lines.replace('@', &i.to_string()));
                }
                block = None;
            }
            (_, Some(lines)) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (_, None) => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// A grid of at most `max` workgroups a dimension that holds at least `groups` of them: (x, y). A
/// kernel numbers its workgroup `y * num_workgroups.x + x` and returns at once if that is not below
/// the number it was told; fewer than y workgroups do so.
///
/// # Panics
/// If `groups` is over `max` squared; the buffers of such a dispatch exceed every limit.
pub fn grid(groups: u32, max: u32) -> (u32, u32) {
    let y = groups.div_ceil(max).max(1);
    assert!(y <= max, "{groups} workgroups do not fit a grid of {max} by {max}");
    (groups.div_ceil(y), y)
}

/// A compiled kernel.
#[derive(Debug)]
pub struct Pipeline {
    pub(super) raw: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) bindings: usize,
    pub(super) immediate_bytes: u32,
}

impl Pipeline {
    pub(super) fn new(device: &wgpu::Device, kernel: &Kernel) -> Self {
        let entries: Vec<_> = (0u32..)
            .zip(&kernel.bindings)
            .map(|(binding, access)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: *access == Access::Read },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
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
            cache: None,
        });
        Self { raw, layout, bindings: kernel.bindings.len(), immediate_bytes: kernel.immediate_bytes }
    }
}

/// One dispatch of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// What runs.
    pub pipeline: &'a Pipeline,
    /// Its buffers, in the order of the kernel's bindings.
    pub buffers: &'a [&'a Buffer],
    /// Its parameters, as the kernel's `Params` lays them out.
    pub immediates: &'a [u8],
    /// How many workgroups; more than one dimension holds are split by [`grid`].
    pub groups: u32,
}

impl Gpu {
    /// Runs `dispatches` one after the other, each seeing what the ones before wrote, and waits.
    /// Returns the seconds they took, by the device's clock if it has one, else by the host's.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn run(&self, what: &str, dispatches: &[Dispatch<'_>]) -> Result<f64, GpuError> {
        let start = std::time::Instant::now();
        let clock = if self.timestamps() { Some(Clock::new(self, 2)?) } else { None };
        let max = self.report().max_workgroups;
        self.checked(what, |shared| {
            let mut encoder = shared.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some(what),
                    timestamp_writes: clock.as_ref().map(|clock| clock.writes(0)),
                });
                for dispatch in dispatches {
                    debug_assert_eq!(dispatch.buffers.len(), dispatch.pipeline.bindings);
                    debug_assert_eq!(dispatch.immediates.len(), dispatch.pipeline.immediate_bytes as usize);
                    let entries: Vec<_> = (0u32..)
                        .zip(dispatch.buffers)
                        .map(|(binding, buffer)| wgpu::BindGroupEntry {
                            binding,
                            resource: buffer.raw.as_entire_binding(),
                        })
                        .collect();
                    let group = shared.device.create_bind_group(&wgpu::BindGroupDescriptor {
                        label: Some(what),
                        layout: &dispatch.pipeline.layout,
                        entries: &entries,
                    });
                    pass.set_pipeline(&dispatch.pipeline.raw);
                    pass.set_bind_group(0, &group, &[]);
                    if !dispatch.immediates.is_empty() {
                        pass.set_immediates(0, dispatch.immediates);
                    }
                    let (x, y) = grid(dispatch.groups, max);
                    pass.dispatch_workgroups(x, y, 1);
                }
            }
            if let Some(clock) = &clock {
                clock.resolve(&mut encoder);
            }
            shared.queue.submit([encoder.finish()])
        })?;
        match clock {
            Some(clock) => clock.seconds(self).map(|ticks| ticks[1]),
            None => {
                self.wait(what, Wait::All)?;
                Ok(start.elapsed().as_secs_f64())
            }
        }
    }
}

/// Device timestamps.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    resolved: Buffer,
    readable: Buffer,
    count: u32,
}

impl Clock {
    /// For `count` of them.
    pub(super) fn new(gpu: &Gpu, count: u32) -> Result<Self, GpuError> {
        let size = 8 * u64::from(count);
        let (queries, raw) = gpu.checked("timestamps", |s| {
            let queries = s.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count,
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
        Ok(Self { queries, resolved: Buffer { raw, bytes: size }, readable, count })
    }

    /// Timestamps `first` and `first + 1` are those of a pass.
    pub(super) fn writes(&self, first: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        }
    }

    /// Brings them to where the host can read them.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..self.count, &self.resolved.raw, 0);
        encoder.copy_buffer_to_buffer(&self.resolved.raw, 0, &self.readable.raw, 0, 8 * u64::from(self.count));
    }

    /// Waits for them; returns each in seconds after the first.
    pub(super) fn seconds(&self, gpu: &Gpu) -> Result<Vec<f64>, GpuError> {
        gpu.map("timestamps", wgpu::MapMode::Read, &[&self.readable], Wait::All)?;
        let ticks: Option<Vec<u64>> = gpu.checked("timestamps", |_| {
            let view = self.readable.raw.slice(..).get_mapped_range().ok()?;
            Some(view.chunks_exact(8).map(bytemuck::pod_read_unaligned).take(self.count as usize).collect())
        })?;
        self.readable.raw.unmap();
        let ticks = ticks.ok_or(GpuError::Lost { message: "timestamps could not be read".into() })?;
        let period = f64::from(gpu.shared.queue.get_timestamp_period()) * 1e-9;
        Ok(ticks.iter().map(|tick| tick.saturating_sub(ticks[0]) as f64 * period).collect())
    }
}
