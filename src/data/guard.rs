//! Panics of the crates that decode file formats, as errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs a step of a decoder and turns its panics into `CorruptTable`.
///
/// On damaged bytes such crates sometimes fail an assertion or an index check instead of returning an error. Such a panic
/// says nothing about this process: what was being decoded is dropped, and the file is reported.
pub(crate) fn guard<T>(step: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| {
        Err(Error::corrupt(format!("the file's data cannot be decoded: {}", panic_text(panic.as_ref()))))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("its decoder gave up")
}
