//! Findings about a table, and repairs.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use crate::format::diagnosis::finding::{self, DoctorOptions};
use crate::format::diagnosis::repair::{self, REPAIRS};
use crate::py::call::run;
use crate::tables::doctor;

/// What an examination looks at.
#[pyclass(name = "DoctorRequest", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyDoctorRequest {
    deep: bool,
    /// The most footers that are read; all if `None`.
    footers: Option<u64>,
    outside: bool,
    most: usize,
}

#[pymethods]
impl PyDoctorRequest {
    #[new]
    fn new(deep: bool, footers: Option<u64>, outside: bool, most: usize) -> PyDoctorRequest {
        PyDoctorRequest { deep, footers, outside, most }
    }
}

impl PyDoctorRequest {
    pub(in crate::py) fn read(&self) -> DoctorOptions {
        let footers = self.footers.unwrap_or(u64::MAX);
        DoctorOptions { deep: self.deep, footers, outside: self.outside, most: self.most }
    }
}

/// A finding; `frazil.doctor.Finding` is made from it.
#[pyclass(name = "Finding", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyFinding {
    code: &'static str,
    severity: &'static str,
    meaning: &'static str,
    remedy: &'static str,
    object: String,
    evidence: String,
    /// Bytes, files and requests that the remedy saves.
    gain: Option<(u64, u64, u64)>,
}

/// The result of an examination; `frazil.doctor.Diagnosis` is made from it.
#[pyclass(name = "Diagnosis", frozen, module = "frazil._core")]
pub(in crate::py) struct PyDiagnosis {
    inner: finding::Diagnosis,
}

#[pymethods]
impl PyDiagnosis {
    fn findings(&self) -> Vec<PyFinding> {
        let finding = |f: &finding::TableFinding| PyFinding {
            code: f.code.id,
            severity: f.code.severity.as_str(),
            meaning: f.code.meaning,
            remedy: f.code.remedy,
            object: f.object.clone(),
            evidence: f.evidence.clone(),
            gain: f.gain.map(|g| (g.bytes, g.files, g.requests)),
        };
        self.inner.findings.iter().map(finding).collect()
    }

    /// The number of findings by code, those that were not kept included.
    fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.inner.counts.clone()
    }

    /// What was looked at.
    fn examined(&self) -> BTreeMap<&'static str, u64> {
        let e = &self.inner.examined;
        BTreeMap::from([
            ("snapshots", e.snapshots),
            ("manifests", e.manifests),
            ("files", e.files),
            ("footers", e.footers),
            ("deep", e.deep),
        ])
    }
}

impl From<finding::Diagnosis> for PyDiagnosis {
    fn from(inner: finding::Diagnosis) -> Self {
        PyDiagnosis { inner }
    }
}

/// A step of a repair; `frazil.doctor.RepairStep` is made from it.
#[pyclass(name = "RepairStep", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyRepairStep {
    repair: &'static str,
    object: String,
    action: String,
    rows_lost: u64,
}

impl From<repair::RepairStep> for PyRepairStep {
    fn from(step: repair::RepairStep) -> Self {
        let repair::RepairStep { kind, object, action, rows_lost } = step;
        PyRepairStep { repair: kind.as_str(), object, action, rows_lost }
    }
}

/// Examines a place, even if no table can be opened there.
#[pyfunction]
pub(in crate::py) fn diagnose_place(
    py: Python<'_>,
    place: &str,
    storage_options: BTreeMap<String, String>,
    request: &PyDoctorRequest,
) -> PyResult<PyDiagnosis> {
    Ok(run(py, || doctor::examine(place, storage_options, &request.read()))?.into())
}

/// Writes a new metadata file for a table that can't be opened. Returns its path and the steps.
#[pyfunction]
pub(in crate::py) fn restore_place(
    py: Python<'_>,
    place: &str,
    storage_options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<(String, Vec<PyRepairStep>)> {
    let (path, steps) = run(py, || doctor::restore(place, &storage_options, dry_run))?;
    Ok((path, steps.into_iter().map(Into::into).collect()))
}

/// All codes: format, code, severity, meaning and remedy.
#[pyfunction]
pub(in crate::py) fn doctor_codes() -> Vec<(&'static str, &'static str, &'static str, &'static str, &'static str)> {
    let code = |(format, c): (&'static str, &'static crate::format::diagnosis::code::Code)| {
        (format, c.id, c.severity.as_str(), c.meaning, c.remedy)
    };
    doctor::codes().into_iter().map(code).collect()
}

/// The names of repairs, in the order in which they are done.
#[pyfunction]
pub(in crate::py) fn repair_names() -> Vec<&'static str> {
    REPAIRS.iter().map(|(_, name)| *name).collect()
}
