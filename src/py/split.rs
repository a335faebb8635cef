//! Splits: tasks for one reader.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyType};

use super::arrow::{PyBatchStream, schema_capsule};
use super::call::{run, run_attached};
use super::pickle::{Pickled, pickle_as_json};
use super::schema::PySchema;
use super::task::PyScanTask;
use crate::data::arrow::schema;
use crate::format::wire::packed::{pack_tasks, packed_tasks_at};
use crate::format::wire::task::{all_tasks_to_json, split_from_json, split_to_json, tasks_from_json, tasks_to_json};
use crate::format::{packed_splits, task};
use crate::rows::stream::StreamRequest;

/// Splits, each by itself or packed.
#[derive(IntoPyObject)]
pub(super) enum PySplits {
    Each(Vec<PySplit>),
    Packed(PyPackedSplits),
}

impl From<packed_splits::Splits> for PySplits {
    fn from(splits: packed_splits::Splits) -> PySplits {
        match splits {
            packed_splits::Splits::Each(splits) => PySplits::Each(splits.into_iter().map(PySplit::from).collect()),
            packed_splits::Splits::Packed(inner) => PySplits::Packed(PyPackedSplits { inner }),
        }
    }
}

/// Tasks for one reader; `frazil.Split` wraps it.
#[pyclass(name = "Split", frozen, module = "frazil._core")]
pub(super) struct PySplit {
    pub(super) inner: Arc<task::Split>,
}

impl From<task::Split> for PySplit {
    fn from(inner: task::Split) -> Self {
        PySplit { inner: Arc::new(inner) }
    }
}

/// Splits that are packed into a few bytes.
#[pyclass(name = "PackedSplits", frozen, module = "frazil._core")]
pub(super) struct PyPackedSplits {
    inner: packed_splits::PackedSplits,
}

#[pymethods]
impl PyPackedSplits {
    fn __len__(&self) -> usize {
        self.inner.count
    }

    /// A split without tasks. Its `with_packed_tasks` takes the packed bytes.
    fn reader(&self) -> PySplit {
        task::Split { context: self.inner.context.clone(), tasks: Vec::new() }.into()
    }

    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.packed)
    }

    fn splits(&self, py: Python<'_>) -> PyResult<Vec<PySplit>> {
        let splits = run(py, || self.inner.splits())?;
        Ok(splits.into_iter().map(PySplit::from).collect())
    }
}

/// With this number of new objects, Python looks through old ones as well.
const MANY: usize = 10_000;

/// Splits as Python objects: the result of `wrap` for each.
pub(super) fn wrapped<'py>(splits: Vec<task::Split>, wrap: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let _uncollected = (splits.len() >= MANY).then(|| Uncollected::new(wrap.py())).transpose()?;
    let out = PyList::empty(wrap.py());
    for split in splits {
        out.append(wrap.call1((PySplit::from(split),))?)?;
    }
    Ok(out)
}

/// Stops Python's garbage collection as long as it lives. Among many new objects, Python would collect again and again
/// without finding garbage. Other threads may run meanwhile, so it is only used for many objects.
struct Uncollected<'py>(Option<Bound<'py, PyModule>>);

impl<'py> Uncollected<'py> {
    fn new(py: Python<'py>) -> PyResult<Uncollected<'py>> {
        let gc = py.import("gc")?;
        let collects: bool = gc.call_method0("isenabled")?.extract()?;
        if collects {
            gc.call_method0("disable")?;
        }
        Ok(Uncollected(collects.then_some(gc)))
    }
}

impl Drop for Uncollected<'_> {
    fn drop(&mut self) {
        // It takes no arguments and can't fail.
        let _ = self.0.take().map(|gc| gc.call_method0("enable"));
    }
}

#[pymethods]
impl PySplit {
    #[getter]
    fn tasks(&self) -> Vec<PyScanTask> {
        let schema = &self.inner.context.schema;
        self.inner.tasks.iter().map(|t| PyScanTask { inner: t.clone(), schema: Arc::clone(schema) }).collect()
    }

    fn schema(&self) -> PySchema {
        PySchema { inner: Arc::clone(&self.inner.context.projection) }
    }

    #[getter]
    fn size_bytes(&self) -> i64 {
        self.inner.size_bytes()
    }

    #[getter]
    fn row_count(&self) -> i64 {
        self.inner.row_count()
    }

    /// The tasks of splits of one scan in one split; `None` without splits.
    #[staticmethod]
    fn joined(splits: Vec<PyRef<'_, PySplit>>) -> Option<PySplit> {
        let splits: Vec<_> = splits.iter().map(|split| &*split.inner).collect();
        task::Split::joined(&splits).map(PySplit::from)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run(py, || schema::to_arrow(&self.inner.context.projection))?;
        schema_capsule(py, &schema)
    }

    #[pyo3(signature = (limit=None, ordered=false, threads=0))]
    fn read(&self, py: Python<'_>, limit: Option<usize>, ordered: bool, threads: usize) -> PyResult<PyBatchStream> {
        let request = StreamRequest { ordered, threads, ..StreamRequest::default() };
        Ok(PyBatchStream::new(run(py, || crate::rows::stream::read_split(&self.inner, request, limit))?))
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || split_to_json(&self.inner))
    }

    fn tasks_to_json(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || tasks_to_json(&self.inner))
    }

    /// The tasks of splits of one scan, for `with_tasks` of any of them.
    #[staticmethod]
    fn encode_tasks<'py>(py: Python<'py>, splits: Vec<PyRef<'_, PySplit>>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let splits: Vec<_> = splits.iter().map(|split| split.inner.clone()).collect();
        let texts = run(py, || all_tasks_to_json(&splits))?;
        Ok(texts.iter().map(|text| PyBytes::new(py, text.as_bytes())).collect())
    }

    /// Tasks that share this split's context.
    fn with_tasks(&self, py: Python<'_>, text: &str) -> PyResult<PySplit> {
        Ok(run(py, || tasks_from_json(text, &self.inner.context))?.into())
    }

    /// The tasks of splits of one scan, packed for `with_packed_tasks`.
    #[staticmethod]
    fn pack_tasks<'py>(py: Python<'py>, splits: Vec<PyRef<'_, PySplit>>) -> PyResult<Bound<'py, PyBytes>> {
        let splits: Vec<_> = splits.iter().map(|split| split.inner.clone()).collect();
        let packed = run(py, || pack_tasks(&splits))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// Packed tasks of one split that share this split's context.
    fn with_packed_tasks(&self, py: Python<'_>, packed: &[u8], index: usize) -> PyResult<PySplit> {
        Ok(run(py, || packed_tasks_at(packed, index, &self.inner.context))?.into())
    }

    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &str) -> PyResult<PySplit> {
        Ok(PySplit { inner: Arc::new(run(cls.py(), || split_from_json(text))?) })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PySplit>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<PySplit>(py, self.to_json(py)?)
    }
}
