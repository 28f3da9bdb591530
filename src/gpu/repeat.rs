//! Submissions that come again and again, recorded before they are asked for.
//!
//! Of the 120 us that a single query takes on an H200, recording its passes takes 15 to 20. The next query mostly has
//! the same passes, with the same buffers and parameters: only its rows differ, and these lie in memory. So the passes
//! are recorded once more while the device is at work, and are only sent when somebody asks for them.

use super::{Gpu, GpuError, Pending, Step};
use std::collections::VecDeque;

/// So many different submissions are ready at most; the one that was used last stays longest.
const MOST: usize = 16;

/// A step, with its buffers, to be compared.
#[derive(Debug, PartialEq, Eq)]
enum Kept {
    Clear(wgpu::Buffer, u64),
    Run { pipeline: wgpu::ComputePipeline, group: wgpu::BindGroup, immediates: Box<[u8]>, groups: u32 },
    Copy { from: (wgpu::Buffer, u64), to: (wgpu::Buffer, u64), bytes: u64 },
}

impl Kept {
    fn of(step: &Step<'_>) -> Self {
        match *step {
            Step::Clear(buffer, bytes) => Self::Clear(buffer.raw.clone(), bytes),
            Step::Run { bound, immediates, groups, .. } => Self::Run {
                pipeline: bound.pipeline.clone(),
                group: bound.group.clone(),
                immediates: immediates.into(),
                groups,
            },
            Step::Copy { from, to, bytes } => {
                Self::Copy { from: (from.raw.clone(), 0), to: (to.raw.clone(), 0), bytes }
            }
            Step::CopyPart { from: (from, at), to: (to, to_at), bytes } => {
                Self::Copy { from: (from.raw.clone(), at), to: (to.raw.clone(), to_at), bytes }
            }
        }
    }
}

/// Submissions that are ready, by their steps. They hold on to the buffers of these.
#[derive(Debug, Default)]
pub struct Repeats {
    ready: VecDeque<(Vec<Kept>, wgpu::CommandBuffer)>,
    /// How many submissions were ready when they were asked for.
    #[cfg(test)]
    pub hits: u64,
}

impl Repeats {
    /// Lets go of all.
    pub fn clear(&mut self) {
        self.ready.clear();
    }

    /// As [`Gpu::submit`] without times, and gets ready for the same steps.
    ///
    /// # Errors
    /// As of [`Gpu::submit`].
    pub fn submit(&mut self, gpu: &Gpu, what: &str, steps: &[Step<'_>]) -> Result<Pending, GpuError> {
        let kept: Vec<_> = steps.iter().map(Kept::of).collect();
        let known = self.ready.iter().position(|(ready, _)| *ready == kept);
        #[cfg(test)]
        {
            self.hits += u64::from(known.is_some());
        }
        let commands = match known.and_then(|at| self.ready.remove(at)) {
            Some((_, commands)) => commands,
            None => gpu.record(what, steps, None)?,
        };
        let pending = gpu.send(what, commands)?;
        // a device that fails here is found out by whoever waits
        if let Ok(commands) = gpu.record(what, steps, None) {
            self.ready.push_front((kept, commands));
            self.ready.truncate(MOST);
        }
        Ok(pending)
    }
}
