//! Panics of the crates that decode file formats, as errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    /// The number of guarded steps that this thread is in.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Runs a step of a decoder and turns its panics into `CorruptTable`.
///
/// On damaged bytes such crates sometimes fail an assertion or an index check instead of returning an error. Such a
/// panic shows no fault of this process: the decoder's data is dropped, and the file is reported. So the panic is not
/// printed either. Its message becomes the error's source.
pub(crate) fn guard<T>(step: impl FnOnce() -> Result<T>) -> Result<T> {
    keep_quiet();
    GUARDED.set(GUARDED.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(step));
    GUARDED.set(GUARDED.get() - 1);
    done.unwrap_or_else(|panic| {
        Err(Error::corrupt("the file's data cannot be decoded").because(panic_text(panic.as_ref()).to_owned()))
    })
}

/// Keeps panics in guarded steps from being printed, once for the process. All other panics reach the earlier hook.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The flag does not exist while the thread ends.
            if GUARDED.try_with(Cell::get).unwrap_or(0) == 0 {
                before(panic);
            }
        }));
    });
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("its decoder gave up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_panic_is_an_error_with_its_text_and_ends_the_silence() {
        let e = guard::<()>(|| guard(|| std::panic::panic_any("index 9 of 3".to_owned()))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        assert_eq!(e.to_string(), "the file's data cannot be decoded: index 9 of 3");
        assert_eq!(GUARDED.get(), 0);
    }
}
