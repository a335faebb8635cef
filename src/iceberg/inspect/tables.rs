//! Metadata tables: a table's snapshots, manifests, files and partitions as Arrow, with the columns of Java Iceberg's.
//!
//! [`inspect`] is the entry point. The columns are defined in `schemas`; other modules fill them. `logs` reads the
//! metadata file alone, `manifests` the manifest lists, `files` and `partitions` the manifests' entries,
//! `position_deletes` the delete files. [`crate::iceberg::manifest::walk`] reads manifests in parallel, and their
//! entries are written directly into Arrow columns.

use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::format::request::At;
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::inspect::metadata_table::MetadataTable;
use crate::iceberg::manifest::walk::MetadataWalk;
use crate::iceberg::scan::version::version;
use crate::iceberg::state::IcebergTable;
use crate::rows::metadata_rows::MetadataRows;

/// Reads a metadata table. `at` chooses the version, for tables that show one. Columns are always those of the current
/// schema and of all specs, as in Java.
///
/// # Errors
/// `InvalidInput` for `at` with a table about all versions; `NotFound` for an unknown version. `CorruptTable`,
/// `Unsupported` or an error of the store, naming the file.
pub fn inspect(table: &IcebergTable, kind: MetadataTable, at: Option<&At>) -> Result<MetadataRows> {
    if at.is_some() && !kind.is_of_one_version() {
        return Err(Error::invalid("this metadata table is about all versions of the table").hint("Leave out at="));
    }
    let inner = &table.inner;
    let (snapshot, _) = version(&inner.metadata, at)?;
    let walk = MetadataWalk { store: inner.store.as_ref(), location: &inner.location, metadata: &inner.metadata };
    let schema = to_arrow(&crate::iceberg::inspect::schemas::schema(kind, &inner.metadata)?)?;
    let of = Inspection { table, walk, snapshot, schema: schema.clone() };
    let batches = match kind {
        MetadataTable::Snapshots => vec![crate::iceberg::inspect::logs::snapshots(&of)?],
        MetadataTable::History => vec![crate::iceberg::inspect::logs::history(&of)?],
        MetadataTable::Refs => vec![crate::iceberg::inspect::logs::refs(&of)?],
        MetadataTable::MetadataLogEntries => vec![crate::iceberg::inspect::logs::metadata_log(&of)?],
        MetadataTable::Manifests { all } => crate::iceberg::inspect::manifests::manifests(&of, all)?,
        MetadataTable::Entries { all } => crate::iceberg::inspect::files::entries(&of, all)?,
        MetadataTable::Files { all, content } => crate::iceberg::inspect::files::files(&of, all, content)?,
        MetadataTable::Partitions => vec![crate::iceberg::inspect::partitions::partitions(&of)?],
        MetadataTable::PositionDeletes => crate::iceberg::inspect::position_deletes::position_deletes(&of)?,
    };
    Ok(MetadataRows { schema, batches: batches.into_iter().filter(|b| b.num_rows() > 0).collect() })
}
