//! Longer turns on a processor, for threads that compute for minutes and that nobody waits for.
//!
//! Several builds on one machine, such as the shards that a cluster puts on one node, take turns. A turn of 3 ms, as
//! Linux has it, is too short to fill the processor's caches with the tables of the next process: four builds of one
//! thread each on two cores lose a tenth of their time to that. Threads with short turns, such as those of a program
//! that somebody looks at, still come first, because their deadlines are earlier. Linux before 6.12 has turns of one
//! length; what it takes from this is that such a thread need not run as soon as it can.

/// Asks for longer turns of the calling thread, and tells whether the system agreed. The thread's priority stays. A
/// thread that somebody has put into a class of its own, real time or idle, stays there.
#[cfg(target_os = "linux")]
pub fn lengthen() -> bool {
    /// Nanoseconds. With 10 ms half of the loss stays, and 100 ms gains no more.
    const TURN: u64 = 50_000_000;
    let Some(mut attributes) = attributes() else { return false };
    let usual = [libc::SCHED_OTHER, libc::SCHED_BATCH];
    if !usual.iter().any(|&policy| attributes.sched_policy == policy as u32) {
        return false;
    }
    attributes.sched_policy = libc::SCHED_BATCH as u32;
    attributes.sched_runtime = TURN;
    // SAFETY: the call reads the struct, whose size the struct tells; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
pub fn lengthen() -> bool {
    false
}

/// How the system treats the calling thread.
#[cfg(target_os = "linux")]
fn attributes() -> Option<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as u32;
    let mut attributes = std::mem::MaybeUninit::<libc::sched_attr>::zeroed();
    // SAFETY: the call fills the struct of the size that it is told; an all-zero struct is valid.
    let (found, attributes) = unsafe {
        let found = libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), size, 0);
        (found, attributes.assume_init())
    };
    (found == 0).then_some(attributes)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// On a thread of its own, as the test's thread is not ours.
    fn after(prepare: impl FnOnce() + Send) -> (libc::sched_attr, bool, libc::sched_attr) {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                prepare();
                (attributes().unwrap(), lengthen(), attributes().unwrap())
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn test_a_thread_of_the_usual_class_has_long_turns_and_its_priority() {
        // SAFETY: 0 is the calling thread, to which any greater niceness is allowed.
        let (before, agreed, now) = after(|| unsafe { assert_eq!(libc::setpriority(libc::PRIO_PROCESS, 0, 19), 0) });
        assert_eq!((before.sched_nice, now.sched_nice), (19, 19));
        let policy = if agreed { libc::SCHED_BATCH as u32 } else { before.sched_policy };
        assert_eq!(now.sched_policy, policy);
    }

    #[test]
    fn test_an_idle_thread_stays_idle() {
        let idle = || {
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: the call reads the struct; 0 is the calling thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) }, 0);
        };
        let (before, agreed, now) = after(idle);
        assert!(!agreed);
        assert_eq!((before.sched_policy, now.sched_policy), (libc::SCHED_IDLE as u32, libc::SCHED_IDLE as u32));
    }
}
