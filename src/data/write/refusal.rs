//! The reason why a value does not fit the table, and offsets within Arrow's 32 bits.

use arrow::buffer::{OffsetBuffer, ScalarBuffer};

use crate::error::{Error, Result};

/// The reason and place of a value that does not fit. `row` counts within the current array, and is mapped outwards
/// level by level.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) row: Option<usize>,
    pub(crate) column: Option<String>,
}

impl Refusal {
    pub(crate) fn at(row: usize, message: impl Into<String>) -> Self {
        Refusal { message: message.into(), row: Some(row), column: None }
    }
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Self {
        Refusal { message: e.to_string(), row: None, column: None }
    }
}

impl From<arrow::error::ArrowError> for Refusal {
    fn from(e: arrow::error::ArrowError) -> Self {
        Refusal { message: e.to_string(), row: None, column: None }
    }
}

pub(super) fn too_large() -> Refusal {
    Refusal {
        message: "a batch holds more than 2 GiB of one column; send smaller batches".into(),
        row: None,
        column: None,
    }
}

/// Subtracts the first offset from all, and returns the range of elements that they span.
pub(super) fn rebase(offsets: impl Iterator<Item = i64>) -> Result<(OffsetBuffer<i32>, usize, usize), Refusal> {
    let mut first = None;
    let mut last = 0;
    let moved = offsets.map(|o| {
        last = o;
        i32::try_from(o - *first.get_or_insert(o)).map_err(|_| too_large())
    });
    let moved = moved.collect::<Result<Vec<i32>, Refusal>>()?;
    let start = first.unwrap_or(0);
    Ok((OffsetBuffer::new(ScalarBuffer::from(moved)), start as usize, last as usize))
}

/// Does the same as [`rebase`], for leaves with offsets.
pub(crate) fn rebase_bytes(offsets: &[i64]) -> Result<(OffsetBuffer<i32>, usize, usize), Refusal> {
    rebase(offsets.iter().copied())
}
