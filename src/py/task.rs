//! Tasks and the files they name.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use super::call::run_attached;
use super::pickle::{Pickled, json_text};
use super::results::value::to_python;
use crate::error::Error;
use crate::format::task;
use crate::format::wire::task::{split_from_json, split_to_json, task_from_json, task_to_json};
use crate::store::Location;
use crate::types::Schema;

static PREDICATE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Raises the error for an attribute that does not exist.
fn no_attribute(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Py<PyAny>> {
    Ok(object.py().import("frazil.names")?.call_method1("no_attribute", (object, name))?.unbind())
}

/// A data file.
#[pyclass(name = "DataFile", frozen, module = "frazil._core")]
pub(super) struct PyDataFile {
    pub(super) inner: Arc<task::DataFile>,
}

#[pymethods]
impl PyDataFile {
    /// Says Frazil's word for an attribute of another library.
    fn __getattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<Py<PyAny>> {
        no_attribute(slf.as_any(), name)
    }

    /// Its location, as the table records it.
    #[getter]
    fn path(&self) -> &str {
        &self.inner.path
    }

    /// `parquet`, `avro`, `orc` or `puffin`.
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format.as_str()
    }

    /// Rows in it.
    #[getter]
    fn record_count(&self) -> i64 {
        self.inner.record_count
    }

    /// Its length in bytes.
    #[getter]
    fn size_bytes(&self) -> i64 {
        self.inner.size_bytes
    }

    /// Its partition: values by name of the partition field.
    #[getter]
    fn partition<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for v in &self.inner.partition.values {
            out.set_item(&v.name, to_python(py, v.value.as_ref(), &v.ty)?)?;
        }
        Ok(out)
    }

    /// The partition spec that it was written with.
    #[getter]
    fn spec_id(&self) -> i32 {
        self.inner.partition.spec_id
    }

    /// Its logical age; `None` before the commit that adds it.
    #[getter]
    fn sequence_number(&self) -> Option<i64> {
        self.inner.sequence_number
    }

    /// Sequence number of the commit that added it.
    #[getter]
    fn file_sequence_number(&self) -> Option<i64> {
        self.inner.file_sequence_number
    }

    /// The snapshot that added it.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.inner.snapshot_id
    }

    /// The order that its rows have.
    #[getter]
    fn sort_order_id(&self) -> Option<i32> {
        self.inner.sort_order_id
    }

    /// Where it may be split.
    #[getter]
    fn split_offsets(&self) -> Option<Vec<i64>> {
        self.inner.split_offsets.clone()
    }

    /// Row id of its first row (format version 3).
    #[getter]
    fn first_row_id(&self) -> Option<i64> {
        self.inner.first_row_id
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDataFile>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __repr__(&self) -> String {
        format!("DataFile({:?}, {} rows, {} bytes)", self.inner.path, self.inner.record_count, self.inner.size_bytes)
    }
}

/// A delete file that applies to a task.
#[pyclass(name = "DeleteFile", frozen, module = "frazil._core")]
pub(super) struct PyDeleteFile {
    pub(super) inner: Arc<task::DataFile>,
}

#[pymethods]
impl PyDeleteFile {
    /// Says Frazil's word for an attribute of another library.
    fn __getattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<Py<PyAny>> {
        no_attribute(slf.as_any(), name)
    }

    /// Its location, as the table records it.
    #[getter]
    fn path(&self) -> &str {
        &self.inner.path
    }

    /// `position`, `equality` or `deletion_vector`.
    #[getter]
    fn content(&self) -> &'static str {
        match (self.inner.content, self.inner.format) {
            (task::FileContent::EqualityDeletes, _) => "equality",
            (_, task::FileFormat::Puffin) => "deletion_vector",
            _ => "position",
        }
    }

    /// `parquet`, `avro`, `orc` or `puffin`.
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format.as_str()
    }

    /// Rows or positions in it.
    #[getter]
    fn record_count(&self) -> i64 {
        self.inner.record_count
    }

    /// Its length in bytes.
    #[getter]
    fn size_bytes(&self) -> i64 {
        self.inner.size_bytes
    }

    /// Its logical age.
    #[getter]
    fn sequence_number(&self) -> Option<i64> {
        self.inner.sequence_number
    }

    /// Field ids of the key columns of an equality delete file.
    #[getter]
    fn equality_ids(&self) -> Option<Vec<i32>> {
        self.inner.equality_ids.clone()
    }

    fn __repr__(&self) -> String {
        format!("DeleteFile({:?}, {:?})", self.inner.path, self.content())
    }
}

/// One range of one data file to read, with the deletes that apply and the remaining filter.
#[pyclass(name = "ScanTask", frozen, module = "frazil._core")]
pub(super) struct PyScanTask {
    pub(super) inner: task::ScanTask,
    pub(super) schema: Arc<Schema>,
}

#[pymethods]
impl PyScanTask {
    /// Says Frazil's word for an attribute of another library.
    fn __getattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<Py<PyAny>> {
        no_attribute(slf.as_any(), name)
    }

    /// The data file.
    #[getter]
    fn data_file(&self) -> PyDataFile {
        PyDataFile { inner: Arc::clone(&self.inner.data_file) }
    }

    /// First byte of the range.
    #[getter]
    fn start(&self) -> i64 {
        self.inner.start
    }

    /// Bytes of the range.
    #[getter]
    fn length(&self) -> i64 {
        self.inner.length
    }

    /// The delete files that apply.
    #[getter]
    fn deletes(&self) -> Vec<PyDeleteFile> {
        self.inner.deletes.iter().map(|d| PyDeleteFile { inner: Arc::clone(&d.file) }).collect()
    }

    /// The remaining filter for this file; its `str()` is text that a scan accepts.
    #[getter]
    fn residual<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PREDICATE.import(py, "frazil.expr", "Predicate")?.call1((self.inner.residual.to_string(),))
    }

    /// In a changelog `insert` or `delete`: whether the commit added the task's rows or removed them.
    #[getter]
    fn operation(&self) -> Option<&'static str> {
        self.inner.change.as_ref().map(|c| c.operation.as_str())
    }

    /// In a changelog, the position of the commit among the counted commits, from 0.
    #[getter]
    fn change_ordinal(&self) -> Option<i32> {
        self.inner.change.as_ref().map(|c| c.ordinal)
    }

    /// In a changelog, the commit.
    #[getter]
    fn commit_snapshot_id(&self) -> Option<i64> {
        self.inner.change.as_ref().map(|c| c.commit_snapshot_id)
    }

    /// In a changelog, for a file that itself stayed: the deletes on the other side of the commit. The task's rows are
    /// removed by them, but not by `deletes`.
    #[getter]
    fn removed_by(&self) -> Option<Vec<PyDeleteFile>> {
        let deletes = self.inner.change.as_ref()?.removed_by.as_ref()?;
        Some(deletes.iter().map(|d| PyDeleteFile { inner: Arc::clone(&d.file) }).collect())
    }

    /// The `file-scan-task` JSON of the Iceberg specification.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || task_to_json(&self.inner, &self.schema))
    }

    /// Reads the result of `to_json`.
    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<PyScanTask> {
        let text = json_text(text)?;
        let (inner, schema) = run_attached(cls.py(), || task_from_json(&text))?;
        Ok(PyScanTask { inner, schema: Arc::new(schema) })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyScanTask>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __repr__(&self) -> String {
        let t = &self.inner;
        let change = t.change.as_ref().map(|c| format!(", {} {}", c.operation.as_str(), c.ordinal)).unwrap_or_default();
        let deletes = t.deletes.len();
        format!("ScanTask({:?}, start={}, length={}, deletes={deletes}{change})", t.data_file.path, t.start, t.length)
    }

    /// Reads the pickled form. It has members for which `to_json`, fixed by the specification, has no place.
    #[classmethod]
    fn unpickle(cls: &Bound<'_, PyType>, text: &str) -> PyResult<PyScanTask> {
        run_attached(cls.py(), || {
            let split = split_from_json(text)?;
            let schema = Arc::clone(&split.context.schema);
            let inner = split.tasks.into_iter().next().ok_or_else(|| Error::invalid("the pickle contains no task"))?;
            Ok(PyScanTask { inner, schema })
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let context = task::ReadContext {
            schema: Arc::clone(&self.schema),
            projection: Arc::clone(&self.schema),
            dropped: [].into(),
            change_filter: Arc::new(crate::expr::BoundPredicate::True),
            snapshot_id: None,
            location: Location::recorded(),
            storage_options: BTreeMap::new(),
            name_mapping: None,
            keep_deleted: false,
            batch_rows: 1,
            buckets: None,
        };
        let split = task::Split { context: Arc::new(context), tasks: vec![self.inner.clone()] };
        Ok((py.get_type::<PyScanTask>().getattr("unpickle")?, (run_attached(py, || split_to_json(&split))?,)))
    }
}
