//! Drives a GPU. When it is lost, threads of the CPU take its queries, and it is looked for until it is back.
//!
//! The batch that it was lost in is answered by the CPU in its place ([`Fallback`]).

use super::place::Task;
use super::worker::Worker;
use crate::cli::query::Devices;
use crate::query::dispatch::Processor;
use crate::query::engine::{Engine as _, EngineKind, Fallback};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Behind a second loss in a row, or a search that found nothing, so much time passes; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);
/// And no more than this. A device that worked for longer is looked for at once.
const LONGEST: Duration = Duration::from_secs(60);

/// A device that is lost.
struct Lost {
    /// When to look for it.
    look_at: Instant,
    pause: Duration,
    /// Somebody is opening it.
    opening: Option<Receiver<Option<Devices>>>,
}

impl Lost {
    /// `worked` is how long it was there, and `before` the pause of the loss before.
    fn new(worked: Duration, before: Duration) -> Self {
        let pause = if worked > LONGEST { Duration::ZERO } else { before };
        Self { look_at: Instant::now() + pause, pause, opening: None }
    }

    /// The pause behind the next failure.
    fn longer(&self) -> Duration {
        (2 * self.pause).clamp(PAUSE, LONGEST)
    }

    /// An engine on the device, if it is back. A thread opens it, since that takes half a second where all is well, and
    /// for ever where a driver hangs: nobody waits for it.
    fn engine<'d>(&mut self, worker: &Worker<'_, 'd>) -> Option<Fallback<'d>> {
        let Some(opening) = &self.opening else {
            if Instant::now() >= self.look_at {
                let (send, receive) = channel();
                let name = worker.settings.device.clone();
                let open = move || {
                    let mut devices = Devices::default();
                    let opened = devices.get(name.as_deref()).is_ok();
                    // the server may have ended
                    let _ = send.send(opened.then_some(devices));
                };
                // without a thread the channel is closed
                drop(std::thread::Builder::new().spawn(open));
                self.opening = Some(receive);
            }
            return None;
        };
        let opened = match opening.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(Some(mut devices)) => worker.settings.engine(worker.searcher, &mut devices).ok(),
            Ok(None) | Err(TryRecvError::Disconnected) => None,
        };
        let engine = opened.filter(|engine| engine.capabilities().kind != EngineKind::Cpu);
        if engine.is_none() {
            *self = Self { look_at: Instant::now() + self.longer(), pause: self.longer(), opening: None };
        }
        engine
    }
}

/// What a driver has.
enum Device<'d> {
    /// An engine on it, since when, and the pause if it is lost soon.
    There(Box<Fallback<'d>>, Instant, Duration),
    Lost(Lost),
}

/// Takes batches until no more come. `number` is the place of the GPU among those who search.
pub(super) fn drive<'d>(worker: &Worker<'_, 'd>, engine: Fallback<'d>, number: usize) {
    let waiting = &worker.queues.waiting;
    let mut device = Device::There(Box::new(engine), Instant::now(), Duration::ZERO);
    let mut next = waiting.take(number, Processor::Gpu);
    while let Some(work) = next {
        if let Device::Lost(lost) = &mut device
            && let Some(engine) = lost.engine(worker)
        {
            worker.counts.devices_back.inc();
            device = Device::There(Box::new(engine), Instant::now(), lost.longer());
        }
        let mut ahead = None;
        match &mut device {
            Device::Lost(_) => {
                worker.queues.put(work.queries.into_iter().map(|query| Task::Search(query.work)));
                waiting.gave_away(number);
            }
            Device::There(engine, since, pause) => {
                let mut meanwhile = || waiting.take_ahead(number, &mut ahead);
                let batch = AssertUnwindSafe(|| worker.batch(engine, work, &mut meanwhile));
                let sound = catch_unwind(batch).unwrap_or(false);
                let lost = engine.capabilities().kind == EngineKind::Cpu;
                if !sound {
                    worker.counts.panics.inc();
                } else if lost {
                    worker.counts.devices_lost.inc();
                }
                if lost || !sound {
                    // behind a panic nobody knows what the old engine is in the middle of
                    device = Device::Lost(Lost::new(since.elapsed(), *pause));
                }
            }
        }
        next = waiting.next(number, Processor::Gpu, ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_device_is_looked_for_less_and_less_often() {
        let (short, long) = (Duration::from_secs(1), LONGEST + Duration::from_secs(1));
        let mut lost = Lost::new(short, Duration::ZERO);
        assert_eq!(lost.pause, Duration::ZERO, "at once");
        let mut pauses = Vec::new();
        for _ in 0..10 {
            lost = Lost::new(short, lost.longer());
            pauses.push(lost.pause.as_millis());
        }
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        assert_eq!(Lost::new(long, lost.longer()).pause, Duration::ZERO);
    }
}
