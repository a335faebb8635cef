//! Partition transforms of Arrow columns.

use pyo3::prelude::*;

use super::arrow::{Batches, Input};
use crate::data::transform_column;
use crate::types::Transform;

/// The first column of `data`, transformed: `transform` is the specification's text, such as `bucket[16]`.
#[pyfunction]
pub(super) fn transform_array(py: Python<'_>, transform: &str, data: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let transform = Transform::parse(transform);
    let (schema, batches) = Input::new(data)?.run(py, |rows| transform_column::transform_column(rows, &transform))?;
    Ok(Batches::new(schema, batches))
}
