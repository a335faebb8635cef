//! The state of an examination.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::lists::Lists;
use super::seen::{CheckedColumn, SeenEntries};
use crate::format::diagnosis::finding::{DoctorOptions, Findings};
use crate::format::task::ReadContext;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::parallel::locked;
use crate::store::{Location, Store};
use crate::types::FieldId;

/// An examination of one table.
pub(super) struct Examination<'a> {
    pub table: &'a IcebergTable,
    pub store: &'a Arc<dyn Store>,
    pub location: &'a Location,
    pub metadata: &'a TableMetadata,
    pub findings: &'a Findings,
    pub options: &'a DoctorOptions,
    pub lists: Lists,
    pub metric_columns: Vec<CheckedColumn>,
    pub metric_fields: Vec<FieldId>,
    /// How data files are read.
    pub context: Arc<ReadContext>,
    /// How delete files are opened: they have columns of their own.
    pub delete_context: Arc<ReadContext>,
    pub(super) root: String,
    /// The footer of one data file in this number is read; 0 for none.
    pub(super) stride: u64,
    /// The number of data files seen.
    pub(super) data_files: AtomicU64,
    pub(super) seen: Mutex<SeenEntries>,
    pub(super) checked: Mutex<HashSet<u64>>,
    /// The greatest positions that delete files name, by the hash of the data file.
    pub positions: Mutex<Vec<(u64, u64, String)>>,
}

impl<'a> Examination<'a> {
    /// The facts of all entries.
    pub(super) fn seen(&self) -> MutexGuard<'_, SeenEntries> {
        locked(&self.seen)
    }

    /// Whether this hash comes for the first time.
    pub(super) fn is_first(&self, key: u64) -> bool {
        locked(&self.checked).insert(key)
    }

    /// Whether the footer of the next new data file is read: of the first, and of one in each stride.
    pub(super) fn wants_footer(&self) -> bool {
        self.stride > 0 && self.data_files.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.stride)
    }

    /// Whether a path is in the table's folder.
    pub(super) fn is_inside(&self, path: &str) -> bool {
        path.starts_with(&self.root) || crate::store::location::normalised(path).starts_with(&self.root)
    }
}
