//! Parts of a plan, for planners in other processes.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use super::arrow::PyBatches;
use super::call::{run, run_attached};
use super::pickle::{Pickled, pickle_as_json};
use super::split::wrapped;
use crate::rows::seam;
use crate::tables::reopen::plan_part_from_json;

/// A share of a plan's manifests; `frazil.scan.PlanPart` wraps it.
#[pyclass(name = "PlanPart", frozen, module = "frazil._core")]
pub(super) struct PyPlanPart {
    pub(super) inner: Box<dyn seam::PlanPart>,
}

#[pymethods]
impl PyPlanPart {
    #[getter]
    fn manifest_bytes(&self) -> u64 {
        self.inner.manifest_bytes()
    }

    #[getter]
    fn most_files(&self) -> u64 {
        self.inner.most_files()
    }

    #[getter]
    fn manifest_counts(&self) -> (usize, usize) {
        self.inner.manifest_counts()
    }

    fn splits<'py>(&self, py: Python<'py>, wrap: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        wrapped(run(py, || self.inner.splits())?, wrap)
    }

    fn plan_table(&self, py: Python<'_>) -> PyResult<PyBatches> {
        let batches = run(py, || self.inner.plan_table())?;
        Ok(PyBatches::new(self.inner.table_schema(), batches))
    }

    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &str) -> PyResult<PyPlanPart> {
        Ok(PyPlanPart { inner: run(cls.py(), || plan_part_from_json(text))? })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyPlanPart>().is_ok_and(|other| other.get().inner.to_json() == self.inner.to_json())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<PyPlanPart>(py, run_attached(py, || Ok(self.inner.to_json()))?)
    }
}
