//! Windows of queries on the CPU or on a device, asked by several threads of Python at the same time.

use crate::queries::Asked;
use gamut::cli::query::{AutoEngines, Devices, Engines as _, Settings, may_pay};
use gamut::index;
use gamut::query::engine::{Answers, Engine as _, EngineKind, Fallback};
use gamut::query::schedule::Schedule;
use gamut::query::{Plan, Searcher};
use rayon::prelude::*;
use self_cell::self_cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

self_cell!(
    /// An index and a searcher of it.
    pub struct Open {
        owner: Arc<index::Index>,
        #[covariant]
        dependent: Searcher,
    }
);

/// An engine that uses a device, one search at a time.
type Kept<'a> = Mutex<Fallback<'a>>;

self_cell!(
    /// A searcher and an engine with its lists on a device.
    struct Ready {
        owner: Arc<Open>,
        #[not_covariant]
        dependent: Kept,
    }
);

/// Which devices an index has opened, and whose turn it is.
#[derive(Default)]
pub struct Answering {
    devices: Mutex<Devices>,
    ready: Mutex<Option<(Settings, Arc<Ready>)>>,
    /// Who may open a device or ask it. Held outside of the pool, and by nobody who only asks the CPU.
    turn: Mutex<()>,
}

/// The value; whoever panicked with it left it whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something on the threads of a pool, or here if there is none.
fn within<T: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

impl Answering {
    /// Whether a device may answer these queries: where that is left open, one query is for the CPU, and several are
    /// for a device that is open already or that could pay. Waits for nobody.
    fn may_use_device(&self, settings: &Settings, open: &Arc<Open>, plans: &[Plan], all: usize) -> bool {
        let searcher = open.borrow_dependent();
        match settings.is_auto() {
            true => {
                let queries = (plans, all as u64, rayon::current_num_threads());
                plans.len() > 1 && (self.open_engine(settings, open).is_some() || may_pay(settings, searcher, queries))
            }
            false => settings.engine_kind() != EngineKind::Cpu,
        }
    }

    /// The engine on a device that these settings have had before. Not one of another searcher: what that scores by is
    /// on the device, and the same settings score by something else when a file of theirs has changed.
    fn open_engine(&self, settings: &Settings, open: &Arc<Open>) -> Option<Arc<Ready>> {
        let same =
            |of: &Settings, ready: &Ready| of.same_engine(settings, true) && Arc::ptr_eq(ready.borrow_owner(), open);
        lock(&self.ready).as_ref().filter(|(of, ready)| same(of, ready)).map(|(_, ready)| ready.clone())
    }

    /// What answers on a device, if one answers. For whoever has the turn.
    fn device(
        &self,
        settings: &Settings,
        open: &Arc<Open>,
        plans: &[Plan],
        all: usize,
    ) -> gamut::Result<Option<Arc<Ready>>> {
        if let Some(ready) = self.open_engine(settings, open) {
            return Ok(Some(ready));
        }
        let mut devices = lock(&self.devices);
        let made = Ready::try_new(open.clone(), |open| {
            let searcher = open.borrow_dependent();
            let engine = match settings.is_auto() {
                true => AutoEngines::new(settings, searcher, &mut devices).instead(plans, all as u64),
                false => settings.engine(searcher, &mut devices).map(Some),
            };
            engine.map_err(Some)?.map(Mutex::new).ok_or(None)
        });
        match made {
            Ok(made) => {
                let made = Arc::new(made);
                // the engine before is closed behind the lock
                let before = lock(&self.ready).replace((settings.clone(), made.clone()));
                drop(before);
                Ok(Some(made))
            }
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    /// The hits of a window of queries, and what found them. `all` queries are expected with these. Those of a list are
    /// answered by the threads of `pool`.
    pub fn window(
        &self,
        settings: &Settings,
        open: &Arc<Open>,
        (queries, all, weights): (&[Asked], usize, bool),
        schedule: &Schedule,
        pool: Option<&rayon::ThreadPool>,
    ) -> gamut::Result<Answers> {
        let searcher = open.borrow_dependent();
        let plan = |asked: &Asked| searcher.plan(&asked.query(searcher, weights)?);
        let (mode, k) = (settings.mode, settings.k);
        let on_cpu = |plans: &[Plan]| -> gamut::Result<Answers> {
            Fallback::on_cpu(searcher, &settings.methods()?).search_all(plans, mode, k, schedule)
        };
        // the answers, or the plans if a device may have them
        let first = within(pool, || -> gamut::Result<_> {
            let plans: Vec<Plan> = match queries {
                [query] => vec![plan(query)?],
                queries => queries.par_iter().map(plan).collect::<gamut::Result<_>>()?,
            };
            match self.may_use_device(settings, open, &plans, all) {
                true => Ok(Err(plans)),
                false => on_cpu(&plans).map(Ok),
            }
        })?;
        let plans = match first {
            Ok(answers) => return Ok(answers),
            Err(plans) => plans,
        };
        // Who opens or asks a device shares work out among the pool's threads, and a thread that waits for its share
        // takes up what another caller has there. So callers wait for their turn before they come into the pool: a
        // thread that has a lock would wait for it.
        let turn = lock(&self.turn);
        if let Some(ready) = within(pool, || self.device(settings, open, &plans, all))? {
            let search = |engine: &mut Fallback<'_>| engine.search_all(&plans, mode, k, schedule);
            return within(pool, || ready.with_dependent(|_, engine| search(&mut lock(engine))));
        }
        drop(turn);
        within(pool, || on_cpu(&plans))
    }
}
