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
    use super::arrow::{Batch, BatchStream, Batches};
    #[pymodule_export]
    use super::catalog::Catalog;
    #[pymodule_export]
    use super::commit_message::CommitMessage;
    #[pymodule_export]
    use super::maintenance_parts::{CompactionGroup, DeletePart, MaintenanceParts};
    #[pymodule_export]
    use super::plan_part::PlanPart;
    #[pymodule_export]
    use super::requests::columns::{NewSortField, Position, SchemaOperation, SpecOperation};
    #[pymodule_export]
    use super::requests::evolution::{Evolution, Retention};
    #[pymodule_export]
    use super::requests::maintenance::{FileOrder, Maintenance, OrphanOptions, PartWriter, RewriteRules};
    #[pymodule_export]
    use super::requests::row_change::{Assigned, RowChange};
    #[pymodule_export]
    use super::requests::version::At;
    #[pymodule_export]
    use super::results::maintenance::{
        Compacted, ComputedStatistics, ExpiredSnapshots, OrphanFiles, RewrittenDeletes, RewrittenManifests,
    };
    #[pymodule_export]
    use super::results::native_read::{NativeFile, NativeFilter, NativeGroup, NativeRead};
    #[pymodule_export]
    use super::results::snapshot::{RefInfo, SnapshotInfo};
    #[pymodule_export]
    use super::scan::{Scan, TaskStream, check_filter, is_plain_path};
    #[pymodule_export]
    use super::schema::{Field, Schema};
    #[pymodule_export]
    use super::split::{PackedSplits, Split};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::task::{DataFile, DeleteFile, ScanTask};
    #[pymodule_export]
    use super::transaction::Transaction;
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
