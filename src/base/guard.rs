//! Calls into crates that may panic where input is damaged.

#![cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "no other crate is known to"))]

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Whether a panic of this thread is somebody's answer, and no fault to show.
    static IS_ANSWER: Cell<bool> = const { Cell::new(false) };
}

/// What `call` gives, or in words with what it panicked. Nothing that it changed may be used after a panic.
///
/// # Errors
/// Those of `call`, and its panic.
pub fn unpanicked<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let before = IS_ANSWER.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    IS_ANSWER.set(before);
    outcome.unwrap_or_else(|panic| Err(words(&*panic)))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it makes no sense").replace('\n', " ")
}

/// Lets the process show no panic that [`unpanicked`] makes an error of. For programs, not for libraries: the hook is
/// the whole process's.
pub fn show_no_answers() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !IS_ANSWER.get() {
            show(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_a_panic_is_an_error_in_one_line() {
        assert_eq!(unpanicked(|| Ok(3)), Ok(3));
        assert_eq!(unpanicked::<()>(|| Err("no".into())), Err("no".into()));
        let line = unpanicked::<()>(|| {
            assert!(IS_ANSWER.get());
            panic!("two\nlines {}", 1)
        });
        assert_eq!(line, Err("two lines 1".into()));
        assert_eq!(unpanicked::<()>(|| panic!("plain")), Err("plain".into()));
        assert!(!IS_ANSWER.get());
    }
}
