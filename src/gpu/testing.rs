//! The adapter that tests run on.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Choice, Gpu, GpuError};

/// Held by the test that uses the adapter, until its thread ends: tests that open and lose devices at
/// the same time would test the driver and not gamut.
static ADAPTER: Mutex<()> = Mutex::new(());

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Opens the adapter that `GAMUT_TEST_DEVICE` names, else the first one, software or not. `None`, with a
/// line that says so, if there is no adapter at all.
///
/// # Panics
/// If the named adapter is missing, or if `GAMUT_REQUIRE_GPU` is set and there is none.
#[allow(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn gpu() -> Option<Gpu> {
    HELD.with_borrow_mut(|held| {
        held.get_or_insert_with(|| ADAPTER.lock().unwrap_or_else(PoisonError::into_inner));
    });
    let choice = Choice::Named(std::env::var("GAMUT_TEST_DEVICE").unwrap_or_else(|_| "0".into()));
    match Gpu::open(&choice) {
        Ok(gpu) => Some(gpu),
        Err(GpuError::NoAdapter) if std::env::var_os("GAMUT_REQUIRE_GPU").is_none() => {
            eprintln!("skipped: no GPU adapter, not even a software one");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
