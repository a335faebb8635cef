//! Partition transforms of Arrow columns, and hashes of texts.

use pyo3::prelude::*;

use super::arrow::{Input, PyBatches};
use crate::codec::xxhash;
use crate::data::arrow::transform_column;
use crate::types::Transform;

/// The first column of `data`, transformed: `transform` is the specification's text, such as `bucket[16]`.
#[pyfunction]
pub(super) fn transform_array(py: Python<'_>, transform: &str, data: &Bound<'_, PyAny>) -> PyResult<PyBatches> {
    let transform = Transform::parse(transform);
    let (schema, batches) = Input::new(data)?.run(py, |rows| transform_column::transform_column(rows, &transform))?;
    Ok(PyBatches::new(schema, batches))
}

/// XXH64 of each text's bytes.
#[pyfunction]
pub(super) fn xxh64(py: Python<'_>, texts: Vec<String>, seed: u64) -> Vec<u64> {
    py.detach(|| texts.iter().map(|text| xxhash::xxh64(text.as_bytes(), seed)).collect())
}
