//! The data that the readers of all metadata tables share: the table, its metadata and the version to show.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::walk::MetadataWalk;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::IcebergTable;

/// The data that the fillers of tables share.
pub(crate) struct Inspection<'a> {
    pub(crate) table: &'a IcebergTable,
    pub(crate) walk: MetadataWalk<'a>,
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// The requested columns of the table.
    pub(crate) schema: SchemaRef,
}

impl Inspection<'_> {
    /// The manifests of the version, or all manifests of all snapshots.
    pub(crate) fn manifests(&self, all: bool) -> Result<Vec<ManifestFile>> {
        match &self.snapshot {
            _ if all => self.walk.reachable(),
            Some(snapshot) => self.walk.manifests(snapshot),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn batch(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::internal("the rows of a metadata table are not an Arrow batch").because(e))
    }
}
