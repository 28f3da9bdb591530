//! Longer turns on a processor, for threads that compute for minutes and that nobody waits for.
//!
//! Several builds on one machine, such as the shards that a cluster puts on one node, take turns. A turn of 3 ms, as
//! Linux has it, is too short to fill the processor's caches with the tables of the next process: four builds of one
//! thread each on two cores lost 9 % of their time to that. Threads with short turns, such as those that hand work
//! to the long ones, still come first, because their deadlines are earlier. Linux before 6.12 has turns of one length;
//! what it takes from this is that such a thread need not run as soon as it can.

#[cfg(target_os = "linux")]
use libc::sched_attr;
use std::marker::PhantomData;

/// Long turns of the thread that asked for them. It has its own again when this is dropped.
#[must_use]
pub struct LongTurns {
    #[cfg(target_os = "linux")]
    before: Option<sched_attr>,
    /// Another thread has turns of its own.
    stays: PhantomData<*const ()>,
}

/// Asks for longer turns of the calling thread. The thread's priority stays. A thread that somebody has put into a
/// class of its own, real time or idle, stays there, and where the system refuses nothing changes.
#[cfg(target_os = "linux")]
pub fn lengthen() -> LongTurns {
    /// Nanoseconds. With 10 ms most of the loss stays, and 100 ms gains no more.
    const TURN: u64 = 50_000_000;
    let usual = |now: &sched_attr| [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(now.sched_policy as i32));
    let before = attributes().filter(usual).filter(|&now| {
        let long = sched_attr { sched_policy: libc::SCHED_BATCH as u32, sched_runtime: TURN, ..now };
        set(&long)
    });
    LongTurns { before, stays: PhantomData }
}

#[cfg(not(target_os = "linux"))]
pub fn lengthen() -> LongTurns {
    LongTurns { stays: PhantomData }
}

#[cfg(target_os = "linux")]
impl Drop for LongTurns {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            set(before);
        }
    }
}

/// How the system treats the calling thread.
#[cfg(target_os = "linux")]
fn attributes() -> Option<sched_attr> {
    let size = size_of::<sched_attr>() as u32;
    let mut attributes = std::mem::MaybeUninit::<sched_attr>::zeroed();
    // SAFETY: the call fills the struct of the size that it is told; an all-zero struct is valid.
    let (found, attributes) = unsafe {
        let found = libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), size, 0);
        (found, attributes.assume_init())
    };
    (found == 0).then_some(attributes)
}

/// Tells the system how to treat the calling thread; true if it agreed.
#[cfg(target_os = "linux")]
fn set(attributes: &sched_attr) -> bool {
    // SAFETY: the call reads the struct, whose size the struct tells; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(attributes), 0) == 0 }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Class and niceness of a thread before, with, and after long turns, and whether it has them.
    fn classes(prepare: impl FnOnce() + Send) -> ([(u32, i32); 3], bool) {
        let class = || attributes().map(|now| (now.sched_policy, now.sched_nice)).unwrap();
        // on a thread of its own, as the test's thread is not ours
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                prepare();
                let before = class();
                let turns = lengthen();
                let (with, agreed) = (class(), turns.before.is_some());
                drop(turns);
                ([before, with, class()], agreed)
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn test_a_thread_of_the_usual_class_has_long_turns_for_a_while_and_its_priority() {
        // SAFETY: 0 is the calling thread, to which any greater niceness is allowed.
        let ([before, with, after], agreed) =
            classes(|| unsafe { assert_eq!(libc::setpriority(libc::PRIO_PROCESS, 0, 19), 0) });
        let policy = if agreed { libc::SCHED_BATCH as u32 } else { before.0 };
        assert_eq!((before.1, with, after), (19, (policy, 19), before));
    }

    #[test]
    fn test_an_idle_thread_stays_idle() {
        let idle = || {
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: the call reads the struct; 0 is the calling thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) }, 0);
        };
        let (classes, agreed) = classes(idle);
        assert!(!agreed);
        assert_eq!(classes.map(|class| class.0), [libc::SCHED_IDLE as u32; 3]);
    }
}
