//! The class `Scan` of `frazil._core`, and the tasks of scans.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use super::arrow::{PyBatchStream, PyBatches, schema_capsule};
use super::call::{run, run_attached};
use super::lock::lock;
use super::plan_part::PyPlanPart;
use super::results::explain;
use super::results::filter::filter_members;
use super::results::native_read::PyNativeRead;
use super::schema::PySchema;
use super::split::{PySplit, PySplits, wrapped};
use super::task::PyScanTask;
use crate::data::read::read_ahead::TaskSource;
use crate::error::Result;
use crate::expr::sanitized;
use crate::format::splits::SplitRequest;
use crate::format::task;
use crate::rows::judged_files::{change_file_schema, file_schema, manifest_schema};
use crate::rows::native_read::NativeReadRequest;
use crate::rows::seam::{self, ScanCapability};
use crate::rows::stream::StreamRequest;
use crate::types::temporal::now_ms;
use crate::{expr, types};

/// Raises `InvalidInputError` if the text is not a filter.
#[pyfunction]
pub(super) fn check_filter(py: Python<'_>, text: &str) -> PyResult<()> {
    run_attached(py, || expr::parse(text).map(drop))
}

/// The filter's text with the date and time of this moment in place of `current_date` and `current_timestamp`. Raises
/// `InvalidInputError` if the text is not a filter.
#[pyfunction]
pub(super) fn fixed_filter(py: Python<'_>, text: &str) -> PyResult<String> {
    run_attached(py, || expr::parse(text).map(|filter| filter.to_string()))
}

/// Whether engines accept a path unchanged.
#[pyfunction]
pub(super) fn is_plain_path(path: &str) -> bool {
    crate::rows::native_read::is_plain_path(path)
}

/// A scan of a table; `frazil.Scan` wraps it.
#[pyclass(name = "Scan", frozen, module = "frazil._core")]
pub(super) struct PyScan {
    pub(super) inner: Box<dyn seam::Scan>,
}

impl PyScan {
    /// The implementation that was found for a verb, or an `Unsupported` error that names it.
    fn required<T>(&self, verb: &str, found: Option<T>) -> Result<T> {
        self.inner.format().required(verb, found)
    }
}

#[pymethods]
impl PyScan {
    /// Whether the scan can do something; the names are those of `frazil.capabilities`.
    fn supports(&self, py: Python<'_>, capability: &str) -> PyResult<bool> {
        run_attached(py, || Ok(self.inner.supports(ScanCapability::parse(capability)?)))
    }

    fn filter(&self, py: Python<'_>, text: &str) -> PyResult<PyScan> {
        Ok(PyScan { inner: run(py, || self.inner.filter(expr::parse(text)?))? })
    }

    fn select(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<PyScan> {
        Ok(PyScan { inner: run(py, || self.inner.select(&columns))? })
    }

    fn limit(&self, rows: usize) -> PyScan {
        PyScan { inner: self.inner.limit(rows) }
    }

    fn schema(&self) -> PySchema {
        PySchema { inner: Arc::clone(&self.inner.context().projection) }
    }

    #[getter]
    fn filter_text(&self) -> String {
        self.inner.whole_filter().to_string()
    }

    /// The filter without its literals, for reports; `None` if it is too long for them.
    fn sanitized_filter<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let filter = self.inner.whole_filter();
        if sanitized::is_too_long(&filter) {
            return Ok(None);
        }
        filter_members(py, &sanitized::sanitized(&filter, now_ms().saturating_mul(1_000))).map(Some)
    }

    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.inner.snapshot_id()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run(py, || self.inner.arrow_schema())?;
        schema_capsule(py, &schema)
    }

    fn plan_files(&self, py: Python<'_>) -> PyResult<PyTaskStream> {
        let tasks = run(py, || self.inner.plan_files())?;
        let schema = self.inner.context().schema.clone();
        let ahead = PyAhead { tasks: Some(tasks), ready: VecDeque::new(), batch: 1 };
        Ok(PyTaskStream { ahead: Mutex::new(ahead), schema })
    }

    fn plan_table(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let batches = run(py, || self.inner.plan_table())?;
        Ok(PyBatches::new(self.inner.plan_schema(), batches))
    }

    #[pyo3(signature = (wrap, split_size_bytes=None, lookback=None, open_file_cost_bytes=None))]
    fn splits<'py>(
        &self,
        py: Python<'py>,
        wrap: &Bound<'py, PyAny>,
        split_size_bytes: Option<i64>,
        lookback: Option<usize>,
        open_file_cost_bytes: Option<i64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let request = SplitRequest { split_size_bytes, lookback, open_file_cost_bytes };
        wrapped(run(py, || self.inner.splits(request))?, wrap)
    }

    /// The splits. From `pack_from` splits on, they are packed if possible.
    #[pyo3(signature = (pack_from=None))]
    fn splits_or_packed(&self, py: Python<'_>, pack_from: Option<usize>) -> PyResult<PySplits> {
        let (request, pack_from) = (SplitRequest::default(), pack_from.unwrap_or(usize::MAX));
        Ok(run(py, || self.inner.splits_or_packed(request, pack_from))?.into())
    }

    /// The files that an engine's own reader can read, and the splits of the others.
    #[pyo3(signature = (schemes, refused, most_files, most_positions, pack_from=None))]
    fn native_read(
        &self,
        py: Python<'_>,
        schemes: Vec<String>,
        refused: HashMap<String, String>,
        most_files: usize,
        most_positions: u64,
        pack_from: Option<usize>,
    ) -> PyResult<PyNativeRead> {
        let pack_from = pack_from.unwrap_or(usize::MAX);
        let request = NativeReadRequest { schemes, refused, most_files, most_positions, pack_from };
        let packing = SplitRequest::default();
        let found =
            run(py, || self.required("Spark's own reader", self.inner.native_reads())?.native_read(&request, packing))?;
        PyNativeRead::new(py, found)
    }

    fn plan_parts(&self, py: Python<'_>, part_bytes: u64, whole_bytes: u64) -> PyResult<Vec<PyPlanPart>> {
        let parts = run(py, || {
            self.required("plans in parts", self.inner.parted_plans())?.plan_parts(part_bytes, whole_bytes)
        })?;
        Ok(parts.into_iter().map(|inner| PyPlanPart { inner }).collect())
    }

    #[getter]
    fn is_planned_by_server(&self, py: Python<'_>) -> PyResult<bool> {
        run(py, || self.inner.parted_plans().map_or(Ok(false), |plans| plans.is_served()))
    }

    #[getter]
    fn is_of_version(&self) -> bool {
        self.inner.parted_plans().is_some_and(|plans| plans.is_of_version())
    }

    fn reader(&self, py: Python<'_>) -> PyResult<PySplit> {
        Ok(run(py, || Ok(self.required("plans in parts", self.inner.parted_plans())?.reader()))?.into())
    }

    fn estimate_splits(&self, py: Python<'_>, parts: Vec<PyRef<'_, PyPlanPart>>) -> PyResult<u64> {
        let files = parts.iter().map(|part| u128::from(part.inner.most_files())).sum();
        run(py, || self.required("plans in parts", self.inner.parted_plans())?.estimate_splits(files))
    }

    fn count_files(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.inner.count_files())
    }

    fn explain<'py>(
        &self,
        py: Python<'py>,
        files: bool,
    ) -> PyResult<(Bound<'py, PyDict>, PyBatches, Option<PyBatches>)> {
        let explained = run(py, || self.inner.explain(files))?;
        let facts = explain::explain_dict(py, &explained.explain)?;
        let manifests = PyBatches::new(manifest_schema(), vec![explained.manifests]);
        let schema = if self.inner.is_of_changes() { change_file_schema() } else { file_schema() };
        Ok((facts, manifests, explained.files.map(|files| PyBatches::new(schema, files))))
    }

    fn estimate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let estimate = run(py, || self.inner.estimate())?;
        explain::estimate_dict(py, &estimate)
    }

    fn statistics<'py>(&self, py: Python<'py>, columns: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = run(py, || self.inner.statistics(&columns))?;
        explain::statistics_dict(py, &statistics)
    }

    #[pyo3(signature = (ordered=false))]
    fn read(&self, py: Python<'_>, ordered: bool) -> PyResult<PyBatchStream> {
        let request = StreamRequest { ordered, ..StreamRequest::default() };
        Ok(PyBatchStream::new(run(py, || self.inner.read(request))?))
    }

    fn read_all(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let (schema, batches) = run(py, || Ok((self.inner.arrow_schema()?, self.inner.read_all()?)))?;
        Ok(PyBatches::new(schema, batches))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.inner.count())
    }
}

/// Most tasks fetched from the planner at once.
const MOST_AHEAD: usize = 1024;

/// Tasks fetched ahead of the consumer, in growing batches. The first comes at once. A long plan does not detach from
/// the interpreter for each task.
struct PyAhead {
    tasks: Option<TaskSource>,
    ready: VecDeque<Result<task::ScanTask>>,
    batch: usize,
}

impl PyAhead {
    fn next(&mut self) -> Result<Option<task::ScanTask>> {
        if self.ready.is_empty()
            && let Some(tasks) = &mut self.tasks
        {
            for _ in 0..self.batch {
                let next = tasks().transpose();
                let last = !matches!(next, Some(Ok(_)));
                self.ready.extend(next);
                if last {
                    self.tasks = None;
                    break;
                }
            }
            self.batch = (self.batch * 2).min(MOST_AHEAD);
        }
        self.ready.pop_front().transpose()
    }
}

/// Tasks as planning finds them.
#[pyclass(name = "TaskStream", frozen, module = "frazil._core")]
pub(super) struct PyTaskStream {
    ahead: Mutex<PyAhead>,
    schema: Arc<types::Schema>,
}

#[pymethods]
impl PyTaskStream {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __repr__(&self) -> &'static str {
        "<iterator of ScanTask>"
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<PyScanTask> {
        // Without detaching where something is ready and no other thread plans.
        let ready = self.ahead.try_lock().ok().and_then(|mut ahead| ahead.ready.pop_front());
        let next = match ready {
            Some(next) => run_attached(py, || next.map(Some))?,
            None => run(py, || lock(&self.ahead).next())?,
        };
        let inner = next.ok_or_else(|| PyStopIteration::new_err(()))?;
        Ok(PyScanTask { inner, schema: Arc::clone(&self.schema) })
    }
}
