//! An open index, and another one in its place without a lost request.

use super::counts::Counts;
use super::desk::{Desk, Job};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

/// Says whether the files of an open index are what they were.
pub type Unchanged = Box<dyn Fn() -> bool + Send + Sync>;

/// Opens an index, with threads that take work off a desk.
pub trait Opener: Send + Sync + 'static {
    /// What requests call the index.
    fn name(&self) -> &str;

    /// Opens the index as it is now, hands what tells of a change of its files to `ready`, and works until the desk is
    /// closed and empty.
    ///
    /// # Errors
    /// The index cannot be opened; then `ready` was not called.
    fn work(&self, desk: &Desk, counts: &Counts, ready: &mut dyn FnMut(Unchanged)) -> anyhow::Result<()>;

    /// Changes when another index takes the place of this one; `None` if there is none at the moment.
    fn stamp(&self) -> Option<[u64; 3]>;
}

/// The desk of an open index. When nobody has it any more, its threads do what is left, and the index is closed.
struct Resident {
    desk: Arc<Desk>,
    unchanged: Unchanged,
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.desk.close();
    }
}

/// An index that stays open, and is opened anew when asked to.
pub struct Residents {
    opener: Arc<dyn Opener>,
    counts: Arc<Counts>,
    /// Queries that may wait.
    room: usize,
    current: RwLock<Option<Arc<Resident>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// What was there when it was opened.
    seen: Mutex<Option<[u64; 3]>>,
}

impl Residents {
    /// Opens the index. `room` queries may wait.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn new(opener: Arc<dyn Opener>, counts: Arc<Counts>, room: usize) -> anyhow::Result<Self> {
        let (current, threads, seen) = (RwLock::default(), Mutex::default(), Mutex::default());
        let residents = Self { opener, counts, room, current, threads, seen };
        residents.reload()?;
        Ok(residents)
    }

    /// What requests call it.
    pub fn name(&self) -> &str {
        self.opener.name()
    }

    /// Opens the index as it is now. From then on it answers; requests before are still answered by the old one.
    ///
    /// # Errors
    /// It cannot be opened; the old one goes on.
    pub fn reload(&self) -> anyhow::Result<()> {
        let stamp = self.opener.stamp();
        let desk = Arc::new(Desk::new(self.room));
        let (told, ready) = sync_channel(1);
        let (opener, counts, own) = (Arc::clone(&self.opener), Arc::clone(&self.counts), Arc::clone(&desk));
        let thread = std::thread::Builder::new().name("index".to_owned()).spawn(move || {
            let mut open = false;
            let outcome = opener.work(&own, &counts, &mut |unchanged| {
                open = true;
                let _ = told.send(Ok(unchanged));
            });
            // whoever still asks learns that nobody answers
            own.close();
            while own.take().is_some() {}
            if let (Err(error), false) = (outcome, open) {
                let _ = told.send(Err(error));
            }
        })?;
        let ready = ready.recv().unwrap_or_else(|_| Err(anyhow::anyhow!("the index was closed as it was opened")));
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        let unchanged = ready?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(Resident { desk, unchanged }));
        Ok(())
    }

    /// Whether another index has taken the place of the one that is open.
    pub fn is_outdated(&self) -> bool {
        let stamp = self.opener.stamp();
        stamp.is_some() && stamp != *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Option<Arc<Resident>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it takes work, and its files are what they were when it was opened.
    pub fn is_ready(&self) -> bool {
        self.current().is_some_and(|resident| (resident.unchanged)())
    }

    /// Queries that wait.
    pub fn waiting(&self) -> usize {
        self.current().map_or(0, |resident| resident.desk.waiting())
    }

    /// Puts a job on the desk.
    ///
    /// # Errors
    /// The job, if there is no room.
    pub fn put(&self, job: Job) -> Result<(), Job> {
        match self.current() {
            Some(resident) => resident.desk.put(job),
            None => Err(job),
        }
    }

    /// Takes no more work, and waits until all that is there is done.
    pub fn close(&self) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = None;
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // a thread that panicked has answered nobody, and said so
            let _ = thread.join();
        }
    }
}
