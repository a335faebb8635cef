//! The compiled module `frazil._core`: its contents in Python, and its allocator on Linux.

use pyo3::prelude::*;

/// Arrow's columns are many buffers of some hundred kilobytes, which are made and freed with each batch. The system's
/// allocator maps each buffer again, at a page fault every 4 KB. That took a third of the time of a full scan. This one
/// keeps freed memory for a while (`.cargo/config.toml`).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The compiled half of Frazil; `frazil` wraps it. Its classes guard their state. So a Python without a global
/// lock stays without it.
#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::py::arrow::{PyBatch, PyBatchStream, PyBatches};
    #[pymodule_export]
    use crate::py::catalog::PyCatalog;
    #[pymodule_export]
    use crate::py::commit_message::PyCommitMessage;
    #[pymodule_export]
    use crate::py::errors::{py_is_secret_option, py_public_text};
    #[pymodule_export]
    use crate::py::maintenance_parts::{PyCompactionGroup, PyDeletePart, PyMaintenanceParts};
    #[pymodule_export]
    use crate::py::plan_part::PyPlanPart;
    #[pymodule_export]
    use crate::py::requests::columns::{PyNewSortField, PyPosition, PySchemaOperation, PySpecOperation};
    #[pymodule_export]
    use crate::py::requests::evolution::{PyEvolution, PyRetention};
    #[pymodule_export]
    use crate::py::requests::maintenance::{PyMaintenance, PyPartWriter, PyRewriteRules};
    #[pymodule_export]
    use crate::py::requests::row_change::{PyAssigned, PyRowChange};
    #[pymodule_export]
    use crate::py::requests::version::PyAt;
    #[pymodule_export]
    use crate::py::results::commit_rows::PyCommitRows;
    #[pymodule_export]
    use crate::py::results::diagnosis::{
        PyDiagnosis, PyDoctorRequest, PyFinding, PyRepairStep, diagnose_place, doctor_codes, repair_names,
        restore_place,
    };
    #[pymodule_export]
    use crate::py::results::maintenance::{
        PyCompacted, PyComputedStatistics, PyExpiredSnapshots, PyOrphanFiles, PyReassignedRowIds, PyRewrittenDeletes,
        PyRewrittenIndexes, PyRewrittenManifests,
    };
    #[pymodule_export]
    use crate::py::results::native_read::{PyNativeFile, PyNativeFilter, PyNativeGroup, PyNativeRead};
    #[pymodule_export]
    use crate::py::results::snapshot::{PyRefInfo, PySnapshotInfo};
    #[pymodule_export]
    use crate::py::results::view::PyView;
    #[pymodule_export]
    use crate::py::scan::{PyScan, PyTaskStream, check_filter, fixed_filter, is_plain_path};
    #[pymodule_export]
    use crate::py::schema::{PyField, PySchema};
    #[pymodule_export]
    use crate::py::split::{PyPackedSplits, PySplit};
    #[pymodule_export]
    use crate::py::table::PyTable;
    #[pymodule_export]
    use crate::py::task::{PyDataFile, PyDeleteFile, PyScanTask};
    #[pymodule_export]
    use crate::py::transaction::{PyCatalogTransaction, PyTransaction};
    #[pymodule_export]
    use crate::py::transforms::{transform_array, xxh64};
    #[pymodule_export]
    use crate::py::variant::{variant_json, variant_objects};
    #[pymodule_export]
    use crate::py::watch::{PyCallCounter, py_show_requests};

    use crate::format::register::set_library;
    use crate::py::requests::register::open_register;

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::store::set_makers(Box::new(crate::py::foreign::PythonMakers));
        set_library(open_register);
        crate::py::watch::set_process();
        crate::py::watch::clean_before_exit(m)?;
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("TABLE_FORMATS", crate::tables::catalog::FORMATS.map(|format| format.id))?;
        m.add("DEBUG_BUILD", cfg!(debug_assertions))
    }
}
