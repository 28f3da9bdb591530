//! One submission of many steps: writes, clears, passes and copies, submitted at once and waited for later.
//!
//! [`Gpu::run`](super::Gpu::run) waits for each pass. A query is a chain of passes of which only the end matters, and a
//! batch should be on its way while the one before is computed.

use super::device::Wait;
use super::kernel::{Clock, grid};
use super::{Buffer, Gpu, GpuError, Pipeline, View};

/// A kernel with its buffers; made once, dispatched often.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) group: wgpu::BindGroup,
    immediate_bytes: u32,
}

/// One step of a submission.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Sets the first bytes of a buffer, a multiple of 4 of them, to zero.
    Clear(&'a Buffer, u64),
    /// Runs a kernel, which sees what earlier steps wrote.
    Run {
        /// For reports of times.
        name: &'static str,
        /// What runs.
        bound: &'a Bound,
        /// Its parameters.
        immediates: &'a [u8],
        /// Number of workgroups; [`grid`] splits more than one dimension holds.
        groups: u32,
    },
    /// Copies the start of a buffer to the start of another.
    Copy {
        /// From here.
        from: &'a Buffer,
        /// To here.
        to: &'a Buffer,
        /// A multiple of 4.
        bytes: u64,
    },
    /// Copies a part of a buffer to a part of another.
    CopyPart {
        /// From here, from this byte on, a multiple of 4.
        from: (&'a Buffer, u64),
        /// To here, the same.
        to: (&'a Buffer, u64),
        /// A multiple of 4.
        bytes: u64,
    },
}

/// Work on its way.
#[derive(Debug)]
pub struct Pending {
    submission: wgpu::SubmissionIndex,
    clock: Option<(Clock, Vec<&'static str>)>,
}

/// The seconds of each run, by name; empty if they were not timed.
pub type Times = Vec<(&'static str, f64)>;

impl Pending {
    pub(super) fn submission(&self) -> wgpu::SubmissionIndex {
        self.submission.clone()
    }

    /// To be asked when the submission is over.
    pub(super) fn times(self, gpu: &Gpu) -> Result<Times, GpuError> {
        let Some((clock, names)) = self.clock else { return Ok(Vec::new()) };
        // not for what was submitted behind it, which may take long
        let ticks = clock.seconds(gpu, Wait::For(Some(self.submission)))?;
        Ok(names.into_iter().zip(ticks.chunks_exact(2).map(|pair| pair[1] - pair[0])).collect())
    }
}

/// Records a run; ignores any other step.
fn dispatch(pass: &mut wgpu::ComputePass<'_>, step: &Step<'_>, (x, y): (u32, u32)) {
    let Step::Run { bound, immediates, .. } = *step else { return };
    pass.set_pipeline(&bound.pipeline);
    pass.set_bind_group(0, &bound.group, &[]);
    if !immediates.is_empty() {
        pass.set_immediates(0, immediates);
    }
    pass.dispatch_workgroups(x, y, 1);
}

impl Gpu {
    /// Binds a kernel to its buffers or parts of buffers, which it picks from `buffers` by name.
    ///
    /// # Errors
    /// The device refuses them, or was lost.
    pub fn bind<'b, V: Copy + Into<View<'b>>>(
        &self,
        what: &str,
        pipeline: &Pipeline,
        buffers: &[(&str, V)],
    ) -> Result<Bound, GpuError> {
        let picked = pipeline.pick(what, buffers)?;
        let entries = pipeline.entries(&picked);
        let descriptor = wgpu::BindGroupDescriptor { label: Some(what), layout: &pipeline.layout, entries: &entries };
        let group = self.checked(what, |s| s.device.create_bind_group(&descriptor))?;
        Ok(Bound { pipeline: pipeline.raw.clone(), group, immediate_bytes: pipeline.immediate_bytes })
    }

    /// Puts `bytes` (a multiple of 4) at byte `at` of a buffer, before anything that is submitted after this call.
    ///
    /// # Errors
    /// Outside the buffer, out of memory, or lost.
    pub fn write(&self, to: &Buffer, at: u64, bytes: &[u8]) -> Result<(), GpuError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.checked("write", |s| s.queue.write_buffer(&to.raw, at, bytes))
    }

    /// Submits `steps`, to run in order. With `timed`, and a device with clocks, each run is timed by itself.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn submit(&self, what: &str, steps: &[Step<'_>], timed: bool) -> Result<Pending, GpuError> {
        let names: Vec<_> = steps
            .iter()
            .filter_map(|step| if let Step::Run { name, .. } = step { Some(*name) } else { None })
            .collect();
        let clock = match timed && self.timestamps() && !names.is_empty() {
            true => Some(Clock::take(self, 2 * names.len() as u32)?),
            false => None,
        };
        let commands = self.record(what, steps, clock.as_ref())?;
        let pending = self.send(what, commands)?;
        Ok(Pending { clock: clock.map(|clock| (clock, names)), ..pending })
    }

    /// Sends what was recorded on its way.
    pub(super) fn send(&self, what: &str, commands: wgpu::CommandBuffer) -> Result<Pending, GpuError> {
        let submission = self.checked(what, |shared| shared.queue.submit([commands]))?;
        Ok(Pending { submission, clock: None })
    }

    /// Records `steps`, and the times of each run with a clock.
    pub(super) fn record(
        &self,
        what: &str,
        steps: &[Step<'_>],
        clock: Option<&Clock>,
    ) -> Result<wgpu::CommandBuffer, GpuError> {
        let max = self.report().max_workgroups;
        let size = |step: &Step<'_>| match *step {
            Step::Run { bound, immediates, groups, .. } => {
                assert_eq!(immediates.len(), bound.immediate_bytes as usize, "parameters of {what}");
                grid(groups, max)
            }
            _ => (0, 0),
        };
        let steps: Vec<_> = steps.iter().map(|step| (*step, size(step))).collect();
        self.checked(what, |shared| {
            let mut encoder = shared.device.create_command_encoder(&Default::default());
            let mut number = 0;
            let mut rest = &steps[..];
            while let Some((&(step, size), behind)) = rest.split_first() {
                rest = behind;
                match step {
                    Step::Clear(buffer, bytes) => encoder.clear_buffer(&buffer.raw, 0, Some(bytes)),
                    Step::Copy { from, to, bytes } => {
                        encoder.copy_buffer_to_buffer(&from.raw, 0, &to.raw, 0, bytes);
                    }
                    Step::CopyPart { from: (from, at), to: (to, to_at), bytes } => {
                        encoder.copy_buffer_to_buffer(&from.raw, at, &to.raw, to_at, bytes);
                    }
                    Step::Run { name, .. } => {
                        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                            label: Some(name),
                            timestamp_writes: clock.map(|clock| clock.writes(number)),
                        });
                        number += 2;
                        dispatch(&mut pass, &step, size);
                        // a pass of its own is only for the clock
                        while let Some(((next @ Step::Run { .. }, size), behind)) =
                            rest.split_first().filter(|_| clock.is_none())
                        {
                            dispatch(&mut pass, next, *size);
                            rest = behind;
                        }
                    }
                }
            }
            if let Some(clock) = clock {
                clock.resolve(&mut encoder);
            }
            encoder.finish()
        })
    }

    /// Waits for a submission and gives `read` the start of a download buffer that it filled. Also returns the seconds
    /// of each run, if they were timed.
    ///
    /// # Errors
    /// Anything that [`GpuError`] names.
    pub fn finish<T>(
        &self,
        pending: Pending,
        from: &Buffer,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<(T, Times), GpuError> {
        self.map("results", wgpu::MapMode::Read, &[from.raw.slice(..)], Wait::For(Some(pending.submission())))?;
        let view = self.checked("results", |_| from.raw.slice(..).get_mapped_range().ok())?;
        let value = view.map(|view| read(&view));
        from.raw.unmap();
        let value = value.ok_or(GpuError::Lost { message: "the results could not be mapped".into() })?;
        Ok((value, pending.times(self)?))
    }
}
