//! Metadata tables: a table's snapshots, manifests, files and partitions as Arrow, with the columns of Java Iceberg's.
//!
//! [`inspect`] is the door. What the tables' columns are is in `schemas`; the other modules fill them, by meaning:
//! `logs` from the metadata file alone, `manifests` from manifest lists, `files` and `partitions` from the manifests'
//! entries, `position_deletes` from the delete files themselves. Manifests are walked by [`crate::iceberg::manifest::walk`], in
//! parallel, and their entries go straight into Arrow columns.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::format::request::At;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::walk::MetadataWalk;
use crate::iceberg::scan::handle::version;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::Table;
use crate::rows::metadata_rows::Rows;

/// A metadata table. `all` means: of every snapshot that the table still has, not of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataTable {
    /// The snapshots that the table still has.
    Snapshots,
    /// What was current when.
    History,
    /// Branches and tags.
    Refs,
    /// The metadata files, the current one last.
    MetadataLogEntries,
    /// Manifests as manifest lists describe them.
    Manifests {
        /// With the snapshot that lists them.
        all: bool,
    },
    /// Manifest entries, those of deleted files too.
    Entries {
        /// Of all snapshots, each manifest once.
        all: bool,
    },
    /// Live files.
    Files {
        /// Of all snapshots, each manifest once.
        all: bool,
        /// Of data or delete manifests only.
        content: Option<ManifestContent>,
    },
    /// One row for each partition with live files.
    Partitions,
    /// One row for each position that position delete files and deletion vectors delete.
    PositionDeletes,
}

const DATA: Option<ManifestContent> = Some(ManifestContent::Data);
const DELETES: Option<ManifestContent> = Some(ManifestContent::Deletes);

/// By the names that Java Iceberg gives them, and one short form.
const NAMES: &[(&str, MetadataTable)] = &[
    ("snapshots", MetadataTable::Snapshots),
    ("history", MetadataTable::History),
    ("refs", MetadataTable::Refs),
    ("metadata_log_entries", MetadataTable::MetadataLogEntries),
    ("metadata_log", MetadataTable::MetadataLogEntries),
    ("manifests", MetadataTable::Manifests { all: false }),
    ("all_manifests", MetadataTable::Manifests { all: true }),
    ("entries", MetadataTable::Entries { all: false }),
    ("all_entries", MetadataTable::Entries { all: true }),
    ("files", MetadataTable::Files { all: false, content: None }),
    ("data_files", MetadataTable::Files { all: false, content: DATA }),
    ("delete_files", MetadataTable::Files { all: false, content: DELETES }),
    ("all_files", MetadataTable::Files { all: true, content: None }),
    ("all_data_files", MetadataTable::Files { all: true, content: DATA }),
    ("all_delete_files", MetadataTable::Files { all: true, content: DELETES }),
    ("partitions", MetadataTable::Partitions),
    ("position_deletes", MetadataTable::PositionDeletes),
];

impl MetadataTable {
    /// The metadata table of this name.
    ///
    /// # Errors
    /// `InvalidInput` if there is none.
    pub fn parse(name: &str) -> Result<MetadataTable> {
        let found = NAMES.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind);
        found.ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Error::invalid(format!("there is no metadata table '{name}'"))
                .hint(format!("There is: {}", names.join(", ")))
        })
    }

    /// Whether it shows one version of the table.
    fn is_of_one_version(self) -> bool {
        matches!(
            self,
            MetadataTable::Manifests { all: false }
                | MetadataTable::Entries { all: false }
                | MetadataTable::Files { all: false, .. }
                | MetadataTable::Partitions
                | MetadataTable::PositionDeletes
        )
    }
}

/// What the fillers of tables share.
pub(crate) struct Inspection<'a> {
    pub(crate) table: &'a Table,
    pub(crate) walk: MetadataWalk<'a>,
    snapshot: Option<Arc<Snapshot>>,
    /// The columns of the table asked for.
    pub(crate) schema: SchemaRef,
}

/// Reads a metadata table. `at` chooses the version of those that show one; columns are always those of the current
/// schema and of all specs, as in Java.
///
/// # Errors
/// `InvalidInput` for `at` with a table of no one version; `NotFound` for a version that is not there; `CorruptTable`,
/// `Unsupported` or the store's, naming the file.
pub fn inspect(table: &Table, kind: MetadataTable, at: Option<&At>) -> Result<Rows> {
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
    Ok(Rows { schema, batches: batches.into_iter().filter(|b| b.num_rows() > 0).collect() })
}

impl Inspection<'_> {
    /// The manifests of the version, or each that any snapshot has.
    pub(crate) fn manifests(&self, all: bool) -> Result<Vec<ManifestFile>> {
        match &self.snapshot {
            _ if all => self.walk.reachable(),
            Some(snapshot) => self.walk.manifests(snapshot),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn batch(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::internal("the rows of a metadata table are no Arrow batch").because(e))
    }
}
