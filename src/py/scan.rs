//! Scans, their tasks and splits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyType};

use super::arrow::{BatchStream, Batches, lock, schema_capsule};
use super::call::{run, run_attached};
use super::plan_part::PlanPart;
use super::schema::Schema;
use super::task::ScanTask;
use super::{Pickled, explain, pickle_as_json};
use crate::data::arrow::schema;
use crate::data::read::read_ahead::TaskSource;
use crate::error::Result;
use crate::format::splits::SplitRequest;
use crate::format::task;
use crate::format::wire::packed::{pack_tasks, packed_tasks_at};
use crate::format::wire::task::{all_tasks_to_json, split_from_json, split_to_json, tasks_from_json, tasks_to_json};
use crate::rows::judged_files::{change_file_schema, file_schema, manifest_schema};
use crate::rows::native_read::{HandOverRequest, deleted_schema, reasons_schema};
use crate::rows::seam;
use crate::rows::stream::StreamRequest;
use crate::{expr, types};

/// Raises `InvalidInputError` if the text is not a filter.
#[pyfunction]
pub(super) fn check_filter(py: Python<'_>, text: &str) -> PyResult<()> {
    run_attached(py, || expr::parse(text).map(drop))
}

/// Whether engines accept a path unchanged.
#[pyfunction]
pub(super) fn is_plain_path(path: &str) -> bool {
    crate::rows::native_read::is_plain_path(path)
}

/// Why Frazil reads files itself: one reason for all, or one for each.
#[derive(IntoPyObject)]
enum Reasons {
    Everywhere(String),
    Each(Batches),
}

/// Splits, single or packed.
#[derive(IntoPyObject)]
enum Splits {
    Each(Vec<Split>),
    Packed(PackedSplits),
}

impl From<crate::format::packed_splits::Splits> for Splits {
    fn from(splits: crate::format::packed_splits::Splits) -> Splits {
        match splits {
            crate::format::packed_splits::Splits::Each(splits) => {
                Splits::Each(splits.into_iter().map(Split::from).collect())
            }
            crate::format::packed_splits::Splits::Packed(inner) => Splits::Packed(PackedSplits { inner }),
        }
    }
}

/// A scan of a table; `frazil.Scan` wraps it.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct Scan {
    pub(super) inner: Box<dyn seam::Scan>,
}

#[pymethods]
impl Scan {
    fn filter(&self, py: Python<'_>, text: &str) -> PyResult<Scan> {
        Ok(Scan { inner: run(py, || self.inner.filter(expr::parse(text)?))? })
    }

    fn select(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Scan> {
        Ok(Scan { inner: run(py, || self.inner.select(&columns))? })
    }

    fn limit(&self, rows: usize) -> Scan {
        Scan { inner: self.inner.limit(rows) }
    }

    fn schema(&self) -> Schema {
        Schema { inner: Arc::clone(&self.inner.context().projection) }
    }

    #[getter]
    fn filter_text(&self) -> String {
        self.inner.filter_text()
    }

    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.inner.snapshot_id()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run(py, || self.inner.arrow_schema())?;
        schema_capsule(py, &schema)
    }

    fn plan_files(&self, py: Python<'_>) -> PyResult<TaskStream> {
        let tasks = run(py, || self.inner.plan_files())?;
        let schema = self.inner.context().schema.clone();
        let ahead = Ahead { tasks: Some(tasks), ready: VecDeque::new(), batch: 1 };
        Ok(TaskStream { ahead: Mutex::new(ahead), schema })
    }

    fn plan_table(&self, py: Python<'_>) -> PyResult<Batches> {
        let batches = run(py, || self.inner.plan_table())?;
        Ok(Batches::new(self.inner.plan_schema(), batches))
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

    /// The splits. From this number on they are packed if possible.
    #[pyo3(signature = (pack_from=None))]
    fn splits_or_packed(&self, py: Python<'_>, pack_from: Option<usize>) -> PyResult<Splits> {
        let (request, pack_from) = (SplitRequest::default(), pack_from.unwrap_or(usize::MAX));
        Ok(run(py, || self.inner.splits_or_packed(request, pack_from))?.into())
    }

    /// The wanted columns, the rest as JSON, deleted rows, why files stay ours (or why all of them do), and their
    /// splits.
    #[pyo3(signature = (schemes, refused, most_files, most_positions, pack_from=None))]
    fn hand_over(
        &self,
        py: Python<'_>,
        schemes: Vec<String>,
        refused: HashMap<String, String>,
        most_files: usize,
        most_positions: u64,
        pack_from: Option<usize>,
    ) -> PyResult<(Schema, String, Batches, Reasons, Splits)> {
        let pack_from = pack_from.unwrap_or(usize::MAX);
        let request = HandOverRequest { schemes, refused, most_files, most_positions, pack_from };
        let packing = SplitRequest::default();
        let dealt = run(py, || {
            seam::required_of_scan("Spark's own reader", self.inner.native_reads())?.hand_over(&request, packing)
        })?;
        let json = dealt.to_json();
        let deleted = Batches::new(deleted_schema(), vec![dealt.deleted]);
        let reasons = match dealt.reasons {
            crate::rows::native_read::Reasons::Everywhere(reason) => Reasons::Everywhere(reason),
            crate::rows::native_read::Reasons::Each(files) => {
                Reasons::Each(Batches::new(reasons_schema(), vec![files]))
            }
        };
        Ok((Schema { inner: Arc::new(dealt.wanted) }, json, deleted, reasons, dealt.rest.into()))
    }

    fn plan_parts(&self, py: Python<'_>, part_bytes: u64, whole_bytes: u64) -> PyResult<Vec<PlanPart>> {
        let parts = run(py, || {
            seam::required_of_scan("plans in parts", self.inner.parted_plans())?.plan_parts(part_bytes, whole_bytes)
        })?;
        Ok(parts.into_iter().map(|inner| PlanPart { inner }).collect())
    }

    #[getter]
    fn is_of_version(&self) -> bool {
        self.inner.parted_plans().is_some_and(|plans| plans.is_of_version())
    }

    fn reader(&self, py: Python<'_>) -> PyResult<Split> {
        Ok(run(py, || Ok(seam::required_of_scan("plans in parts", self.inner.parted_plans())?.reader()))?.into())
    }

    fn estimate_splits(&self, py: Python<'_>, parts: Vec<PyRef<'_, PlanPart>>) -> PyResult<u64> {
        let files = parts.iter().map(|part| u128::from(part.inner.most_files())).sum();
        run(py, || seam::required_of_scan("plans in parts", self.inner.parted_plans())?.estimate_splits(files))
    }

    fn count_files(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.inner.count_files())
    }

    fn explain<'py>(&self, py: Python<'py>, files: bool) -> PyResult<(Bound<'py, PyDict>, Batches, Option<Batches>)> {
        let explained = run(py, || self.inner.explain(files))?;
        let facts = explain::explain_dict(py, &explained.explain)?;
        let manifests = Batches::new(manifest_schema(), vec![explained.manifests]);
        let schema = if self.inner.is_of_changes() { change_file_schema() } else { file_schema() };
        Ok((facts, manifests, explained.files.map(|files| Batches::new(schema, files))))
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
    fn read(&self, py: Python<'_>, ordered: bool) -> PyResult<BatchStream> {
        let how = StreamRequest { ordered, ..StreamRequest::default() };
        Ok(BatchStream::new(run(py, || self.inner.read(how))?))
    }

    fn read_all(&self, py: Python<'_>) -> PyResult<Batches> {
        let (schema, batches) = run(py, || Ok((self.inner.arrow_schema()?, self.inner.read_all()?)))?;
        Ok(Batches::new(schema, batches))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.inner.count())
    }
}

/// Most tasks fetched from the planner at once.
const MOST_AHEAD: usize = 1024;

/// Tasks fetched ahead of the consumer, in growing batches: the first comes at once, and a long plan does not detach
/// from the interpreter for each of them.
struct Ahead {
    tasks: Option<TaskSource>,
    ready: VecDeque<Result<task::ScanTask>>,
    batch: usize,
}

impl Ahead {
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
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct TaskStream {
    ahead: Mutex<Ahead>,
    schema: Arc<types::Schema>,
}

#[pymethods]
impl TaskStream {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<ScanTask> {
        // Without detaching where something is ready and no other thread plans.
        let ready = self.ahead.try_lock().ok().and_then(|mut ahead| ahead.ready.pop_front());
        let next = match ready {
            Some(next) => run_attached(py, || next.map(Some))?,
            None => run(py, || lock(&self.ahead).next())?,
        };
        let inner = next.ok_or_else(|| PyStopIteration::new_err(()))?;
        Ok(ScanTask { inner, schema: Arc::clone(&self.schema) })
    }
}

/// Tasks for one reader; `frazil.Split` wraps it.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct Split {
    inner: Arc<task::Split>,
}

impl From<task::Split> for Split {
    fn from(inner: task::Split) -> Self {
        Split { inner: Arc::new(inner) }
    }
}

/// Splits in a few bytes for all.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct PackedSplits {
    inner: crate::format::packed_splits::PackedSplits,
}

#[pymethods]
impl PackedSplits {
    fn __len__(&self) -> usize {
        self.inner.count
    }

    /// A split without tasks, whose `with_packed_tasks` takes what follows.
    fn reader(&self) -> Split {
        task::Split { context: self.inner.context.clone(), tasks: Vec::new() }.into()
    }

    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.packed)
    }

    fn splits(&self, py: Python<'_>) -> PyResult<Vec<Split>> {
        let splits = run(py, || self.inner.splits())?;
        Ok(splits.into_iter().map(Split::from).collect())
    }
}

/// This number of new objects makes Python collect old ones too.
const MANY: usize = 10_000;

/// Splits as Python has them: what `wrap` makes of each.
pub(super) fn wrapped<'py>(splits: Vec<task::Split>, wrap: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let _uncollected = (splits.len() >= MANY).then(|| Uncollected::new(wrap.py())).transpose()?;
    let out = PyList::empty(wrap.py());
    for split in splits {
        out.append(wrap.call1((Split::from(split),))?)?;
    }
    Ok(out)
}

/// While it lives, Python collects no garbage. Among very many new objects a collection would run again and again and
/// find nothing. Other threads may run meanwhile, so use it only for very many objects.
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
        // It takes nothing and can't fail.
        let _ = self.0.take().map(|gc| gc.call_method0("enable"));
    }
}

#[pymethods]
impl Split {
    #[getter]
    fn tasks(&self) -> Vec<ScanTask> {
        let schema = &self.inner.context.schema;
        self.inner.tasks.iter().map(|t| ScanTask { inner: t.clone(), schema: Arc::clone(schema) }).collect()
    }

    fn schema(&self) -> Schema {
        Schema { inner: Arc::clone(&self.inner.context.projection) }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run(py, || schema::to_arrow(&self.inner.context.projection))?;
        schema_capsule(py, &schema)
    }

    #[pyo3(signature = (limit=None, ordered=false, threads=0))]
    fn read(&self, py: Python<'_>, limit: Option<usize>, ordered: bool, threads: usize) -> PyResult<BatchStream> {
        let how = StreamRequest { ordered, threads, ..StreamRequest::default() };
        Ok(BatchStream::new(run(py, || crate::rows::stream::read_split(&self.inner, how, limit))?))
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || split_to_json(&self.inner))
    }

    fn tasks_to_json(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || tasks_to_json(&self.inner))
    }

    /// The tasks of splits of one scan, for `with_tasks` of any of them.
    #[staticmethod]
    fn encode_tasks<'py>(py: Python<'py>, splits: Vec<PyRef<'_, Split>>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let splits: Vec<_> = splits.iter().map(|split| split.inner.clone()).collect();
        let texts = run(py, || all_tasks_to_json(&splits))?;
        Ok(texts.iter().map(|text| PyBytes::new(py, text.as_bytes())).collect())
    }

    /// Tasks that share this split's context.
    fn with_tasks(&self, py: Python<'_>, text: &str) -> PyResult<Split> {
        Ok(run(py, || tasks_from_json(text, &self.inner.context))?.into())
    }

    /// The same in a few bytes for all, for `with_packed_tasks`.
    #[staticmethod]
    fn pack_tasks<'py>(py: Python<'py>, splits: Vec<PyRef<'_, Split>>) -> PyResult<Bound<'py, PyBytes>> {
        let splits: Vec<_> = splits.iter().map(|split| split.inner.clone()).collect();
        let packed = run(py, || pack_tasks(&splits))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// Packed tasks of one split that share this split's context.
    fn with_packed_tasks(&self, py: Python<'_>, packed: &[u8], index: usize) -> PyResult<Split> {
        Ok(run(py, || packed_tasks_at(packed, index, &self.inner.context))?.into())
    }

    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &str) -> PyResult<Split> {
        Ok(Split { inner: Arc::new(run(cls.py(), || split_from_json(text))?) })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Split>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<Split>(py, self.to_json(py)?)
    }
}
