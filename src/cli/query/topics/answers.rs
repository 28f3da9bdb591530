//! Windows are answered: one after the other by one engine, or at the same time by an engine on each of several
//! devices.

use super::windows::{Answered, Engines, Planned, Read, Work};
use crate::Result;
use crate::query::engine::{Answers, Engine as _, Fallback};
use crate::query::without_words;
use rayon::prelude::*;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Answers windows as they come, until nobody takes the answers. Several devices answer a window each.
pub(super) fn ask<'a>(
    engines: &mut impl Engines<'a>,
    windows: Receiver<Result<Planned>>,
    work: &Work<'_>,
    to: SyncSender<Answered>,
) -> Result<()> {
    // To give back a GPU's memory buffer by buffer takes longer than many queries do. The process ends soon, and the
    // driver takes all of it back.
    let mut engine = ManuallyDrop::new(engines.first()?);
    work.clock.ready(&engine);
    let mut windows = windows.into_iter();
    while let Some(window) = windows.next() {
        let window = window?;
        if let Some(other) = engines.instead(&window.plans, window.read.left)? {
            engine = ManuallyDrop::new(other);
            work.clock.ready(&engine);
            work.window.fetch_max(super::window(work.k, engine.capabilities().batches), Ordering::Relaxed);
        }
        if engine.devices().len() > 1 && engine.capabilities().batches {
            let apart = ManuallyDrop::into_inner(engine).apart().into_iter().map(ManuallyDrop::new).collect();
            return share(apart, &mut std::iter::once(Ok(window)).chain(windows), work, &to);
        }
        if to.send(answer(&mut engine, window, 1, work)?).is_err() {
            break;
        }
    }
    Ok(())
}

/// Answers a window by one of so many engines.
fn answer(engine: &mut Fallback<'_>, window: Planned, engines: u32, work: &Work<'_>) -> Result<Answered> {
    work.means.go_on()?;
    let Planned { read: Read { topics, digest, .. }, plans } = window;
    let without_words = without_words(&topics, &plans).into_iter().map(str::to_owned).collect();
    let start = Instant::now();
    let Answers { hits, effort } = engine.search_all(&plans, work.mode, work.k, work.schedule)?;
    work.clock.answered(start.elapsed(), &effort, engines);
    let by_cpu = effort.by_cpu() as u64;
    // a window has many, and the engine would wait
    rayon::spawn(move || plans.into_par_iter().for_each(drop));
    Ok(Answered { topics, hits, without_words, by_cpu, digest })
}

/// Windows that engines answer at the same time are handed on in their order.
struct Turns {
    /// The number of the window that is to be handed on next; none if no window is any more.
    next: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Turns {
    /// Does something when all windows before window `number` are handed on; whether there is to be another window.
    /// `None` if no window is to be handed on any more.
    fn take<T>(&self, number: usize, act: impl FnOnce() -> (T, bool)) -> Option<T> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let is_not_yet = |next: &mut Option<usize>| next.is_some_and(|next| next < number);
        let mut next = self.changed.wait_while(next, is_not_yet).unwrap_or_else(PoisonError::into_inner);
        next.as_ref()?;
        let (done, go_on) = act();
        *next = go_on.then_some(number + 1);
        self.changed.notify_all();
        Some(done)
    }

    fn end(&self) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }
}

/// Ends all if the thread panics: the others would wait for its window.
struct EndsAll<'t>(&'t Turns);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Answers windows as they come, each by whichever engine is free, until nobody takes the answers. An engine makes
/// batches of a window, and chooses the best of its hits, while the devices of the others compute.
fn share(
    engines: Vec<ManuallyDrop<Fallback<'_>>>,
    windows: &mut (impl Iterator<Item = Result<Planned>> + Send),
    work: &Work<'_>,
    to: &SyncSender<Answered>,
) -> Result<()> {
    let turns = &Turns { next: Mutex::new(Some(0)), changed: Condvar::new() };
    let (windows, count) = (&Mutex::new(windows.enumerate()), engines.len() as u32);
    let answer_some = |mut engine: ManuallyDrop<Fallback<'_>>| {
        let _ends = EndsAll(turns);
        loop {
            let next = windows.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, window)) = next else { return Ok(()) };
            let answered = window.and_then(|window| answer(&mut engine, window, count, work));
            let handed_on = turns.take(number, || match answered {
                Ok(answered) => {
                    let is_taken = to.send(answered).is_ok();
                    (Ok(is_taken), is_taken)
                }
                Err(error) => (Err(error), false),
            });
            match handed_on {
                Some(Ok(true)) => {}
                Some(Ok(false)) | None => return Ok(()),
                Some(Err(error)) => return Err(error),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = engines.into_iter().map(|engine| scope.spawn(move || answer_some(engine))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // all are over before anything is said
        threads.into_iter().map(join).collect::<Vec<_>>().into_iter().collect()
    })
}
