//! The Python face: converts arguments, detaches from the interpreter, calls the crate, converts back. No logic lives
//! here; words, types and documentation for users are in `python/frazil`.
//!
//! [`call`] is the only way into the crate, [`arrow`] the only place with `unsafe`, [`errors`] the map to exceptions.

mod allocator;
mod arrow;
mod call;
mod catalog;
mod commit_message;
mod errors;
mod lock;
mod maintenance_parts;
mod pickle;
mod plan_part;
mod requests;
mod results;
mod scan;
mod schema;
mod signals;
mod split;
mod table;
mod task;
mod transaction;
mod transforms;
mod variant;

use pyo3::prelude::*;

/// The compiled half of Frazil; `frazil` wraps it.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrow::{PyBatch, PyBatchStream, PyBatches};
    #[pymodule_export]
    use super::catalog::PyCatalog;
    #[pymodule_export]
    use super::commit_message::PyCommitMessage;
    #[pymodule_export]
    use super::maintenance_parts::{PyCompactionGroup, PyDeletePart, PyMaintenanceParts};
    #[pymodule_export]
    use super::plan_part::PyPlanPart;
    #[pymodule_export]
    use super::requests::columns::{PyNewSortField, PyPosition, PySchemaOperation, PySpecOperation};
    #[pymodule_export]
    use super::requests::evolution::{PyEvolution, PyRetention};
    #[pymodule_export]
    use super::requests::maintenance::{PyFileOrder, PyMaintenance, PyOrphanOptions, PyPartWriter, PyRewriteRules};
    #[pymodule_export]
    use super::requests::row_change::{PyAssigned, PyRowChange};
    #[pymodule_export]
    use super::requests::version::PyAt;
    #[pymodule_export]
    use super::results::maintenance::{
        PyCompacted, PyComputedStatistics, PyExpiredSnapshots, PyOrphanFiles, PyRewrittenDeletes, PyRewrittenManifests,
    };
    #[pymodule_export]
    use super::results::native_read::{PyNativeFile, PyNativeFilter, PyNativeGroup, PyNativeRead};
    #[pymodule_export]
    use super::results::snapshot::{PyRefInfo, PySnapshotInfo};
    #[pymodule_export]
    use super::scan::{PyScan, PyTaskStream, check_filter, is_plain_path};
    #[pymodule_export]
    use super::schema::{PyField, PySchema};
    #[pymodule_export]
    use super::split::{PyPackedSplits, PySplit};
    #[pymodule_export]
    use super::table::PyTable;
    #[pymodule_export]
    use super::task::{PyDataFile, PyDeleteFile, PyScanTask};
    #[pymodule_export]
    use super::transaction::PyTransaction;
    #[pymodule_export]
    use super::transforms::{transform_array, xxh64};
    #[pymodule_export]
    use super::variant::{variant_json, variant_objects};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("TABLE_FORMATS", crate::tables::catalog::FORMATS.map(|format| format.id))?;
        m.add("DEBUG_BUILD", cfg!(debug_assertions))
    }
}
