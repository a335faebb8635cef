//! Input of planning: a version of a table, a filter and options.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::avro::ManifestCache;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::Store;
use crate::types::FieldId;

/// The input of a plan.
#[derive(Clone, Debug)]
pub struct PaimonPlanInput {
    /// Where the files are.
    pub store: Arc<dyn Store>,
    /// The table's folder.
    pub root: String,
    /// Manifests that former plans read.
    pub kept: Arc<ManifestCache>,
    /// The schemas of the branch, by their numbers.
    pub schemas: Arc<BTreeMap<i64, Arc<TableSchema>>>,
    /// The version; `None` for an empty table.
    pub snapshot: Option<Arc<PaimonSnapshot>>,
    /// The schema that the filter is bound to.
    pub schema: Arc<TableSchema>,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
    /// The table's options, overridden by those of the scan.
    pub options: Arc<BTreeMap<String, String>>,
    /// The columns that are read, without those of the filter; `None` for all. It matters only where files hold some
    /// of the columns.
    pub projection: Option<Vec<FieldId>>,
    /// Only files made then or later, milliseconds since the epoch.
    pub files_since_ms: Option<i64>,
    /// Whether files of level 0 are seen in tables that hide them, and merged with the others.
    pub every_level: bool,
}

impl PaimonPlanInput {
    /// Where manifests are read from.
    pub fn manifests(&self) -> ManifestFolder<'_> {
        ManifestFolder::new(self.store.as_ref(), &self.root).keeping(&self.kept)
    }
}

/// The schema that a file was written with.
///
/// # Errors
/// `CorruptTable` if it does not exist.
pub fn schema_of<'i>(input: &'i PaimonPlanInput, id: Option<&i64>) -> Result<&'i TableSchema> {
    let found = id.and_then(|id| input.schemas.get(id));
    found.map(AsRef::as_ref).ok_or_else(|| {
        let id = id.copied().unwrap_or(-1);
        Error::corrupt(format!("a data file was written with schema {id}, which the table does not have"))
    })
}

/// Where the files of a scan's table are.
///
/// # Errors
/// As [`TablePaths::new`].
pub(crate) fn paths(input: &PaimonPlanInput) -> Result<TablePaths> {
    TablePaths::new(&input.root, &input.schema)
}
