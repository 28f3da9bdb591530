//! The table of maps and the handler of SIGBUS that reads it.
//!
//! The handler may interrupt any code, so it only loads and stores atomics and calls `mmap` and `sigaction`. The table
//! is a chain of chunks that are never freed. A row is written by its owner alone; a version that is odd while the
//! owner writes tells the handler that what it read belongs together.

use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

use libc::{c_int, c_void, siginfo_t};

use crate::base::memory::page_bytes;

/// Rows per chunk.
const ROWS: usize = 128;

/// A map in the table.
struct Entry {
    used: AtomicBool,
    version: AtomicUsize,
    /// First address, and the one behind the last page; 0 without a map.
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

impl Entry {
    const fn new() -> Self {
        Self {
            used: AtomicBool::new(false),
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            faulted: AtomicBool::new(false),
        }
    }

    /// Only for the owner.
    fn set(&self, start: usize, end: usize) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.start.store(start, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// The last address of the map that holds an address, plus one.
    fn end_around(&self, address: usize) -> Option<usize> {
        let version = self.version.load(Ordering::SeqCst);
        let (start, end) = (self.start.load(Ordering::SeqCst), self.end.load(Ordering::SeqCst));
        let whole = version.is_multiple_of(2) && self.version.load(Ordering::SeqCst) == version;
        (whole && start <= address && address < end).then_some(end)
    }
}

struct Chunk {
    entries: [Entry; ROWS],
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    const fn new() -> Self {
        Self { entries: [const { Entry::new() }; ROWS], next: AtomicPtr::new(ptr::null_mut()) }
    }

    fn next(&self) -> Option<&'static Chunk> {
        // SAFETY: null, or a chunk that was leaked whole before its address was stored.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    fn next_or_new(&self) -> &'static Chunk {
        if let Some(next) = self.next() {
            return next;
        }
        let new = Box::into_raw(Box::new(Chunk::new()));
        match self.next.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was leaked just now, and nobody frees it.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: nobody else has seen `new`; `other` was leaked by the thread that stored it.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }
}

static TABLE: Chunk = Chunk::new();

/// A map's row. Dropped, it is free for another map.
pub(super) struct Row(&'static Entry);

impl Row {
    /// Puts a map into the table.
    pub(super) fn new(map: &[u8]) -> Self {
        install();
        let mut chunk = &TABLE;
        let entry = loop {
            let free = chunk.entries.iter().find(|entry| !entry.used.swap(true, Ordering::SeqCst));
            match free {
                Some(entry) => break entry,
                None => chunk = chunk.next_or_new(),
            }
        };
        entry.faulted.store(false, Ordering::SeqCst);
        let start = map.as_ptr() as usize;
        // An empty map has no page that could be read.
        entry.set(start, if map.is_empty() { start } else { (start + map.len()).next_multiple_of(page()) });
        Self(entry)
    }

    /// Whether the handler has put zeros under the map.
    pub(super) fn faulted(&self) -> bool {
        // What was read from the map must not be read later than this.
        fence(Ordering::Acquire);
        self.0.faulted.load(Ordering::SeqCst)
    }

    /// The addresses belong to the map no longer.
    pub(super) fn unmap(&self) {
        self.0.set(0, 0);
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        self.0.set(0, 0);
        self.0.used.store(false, Ordering::SeqCst);
    }
}

static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Bytes of a page of the system, as soon as a file is mapped.
pub(super) fn page() -> usize {
    PAGE.load(Ordering::Relaxed)
}

/// What the process did about SIGBUS before; leaked.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        PAGE.store(page_bytes(), Ordering::Relaxed);
        // SAFETY: all zeros is a valid `sigaction`: the default action with an empty mask.
        let (mut before, mut ours): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
        ours.sa_sigaction = handler as usize;
        // On the stack that Rust gives each thread for the purpose: the handler before may be Rust's own, which tells
        // of stacks that are full.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: all pointers are to live values. The handler keeps to what a handler may do; what was there before is
        // stored before it can be called.
        unsafe {
            if libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) == 0 {
                BEFORE.store(Box::into_raw(Box::new(before)), Ordering::SeqCst);
                // Without a handler a truncated file ends the process, as it would have before.
                libc::sigaction(libc::SIGBUS, &ours, ptr::null_mut());
            }
        }
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system hands a handler with SA_SIGINFO a valid `info`.
    let address = unsafe { (*info).si_addr() } as usize;
    if !put_zeros_under(address) {
        pass_on(signal, info, context);
    }
}

/// Replaces the pages of a map from the faulting one to the last; false if no map is there.
fn put_zeros_under(address: usize) -> bool {
    let mut chunk = Some(&TABLE);
    while let Some(here) = chunk {
        for entry in &here.entries {
            let Some(end) = entry.end_around(address) else { continue };
            // Before the zeros: no thread can read one without finding this.
            entry.faulted.store(true, Ordering::SeqCst);
            let from = address - address % page();
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            // SAFETY: the pages belong to a map that is alive, since a thread reads from it: they may only be read, and
            // their bytes may be any. `errno` is the interrupted thread's and is put back.
            return unsafe {
                let errno = errno();
                let kept = *errno;
                let zeros = libc::mmap(from as *mut c_void, end - from, libc::PROT_READ, flags, -1, 0);
                *errno = kept;
                zeros != libc::MAP_FAILED
            };
        }
        chunk = here.next();
    }
    false
}

#[cfg(target_os = "linux")]
unsafe fn errno() -> *mut c_int {
    // SAFETY: of the thread that calls.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno() -> *mut c_int {
    // SAFETY: of the thread that calls.
    unsafe { libc::__error() }
}

/// Leaves the signal to whoever had it before.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: null, or leaked whole before this handler was installed.
    let before = unsafe { BEFORE.load(Ordering::SeqCst).as_ref() };
    match before.map(|before| (before.sa_sigaction, before.sa_flags)) {
        Some((handler, flags)) if handler != libc::SIG_DFL && handler != libc::SIG_IGN => {
            // SAFETY: whoever installed the handler said that it has this form.
            unsafe {
                if flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
        _ => {
            // The read is tried again when the handler returns, and then ends the process, as it would have.
            // SAFETY: all zeros is the default action.
            unsafe {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &default, ptr::null_mut());
            }
        }
    }
}
