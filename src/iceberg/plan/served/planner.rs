//! What a server is asked, and its answer.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::error::Result;
use crate::expr::BoundPredicate;
use crate::types::Schema;

/// The files that a server is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum ServedFiles {
    /// Those of a snapshot.
    Version(i64),
    /// Those that snapshots appended.
    Appended {
        /// The snapshot before the first one.
        since: i64,
        /// The last snapshot.
        until: i64,
    },
}

/// The scan that a server is asked to plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedScan {
    /// The files.
    pub files: ServedFiles,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
    /// The schema of the snapshot, and the table's current one. Servers read names by one or the other.
    pub schemas: [Arc<Schema>; 2],
    /// Full names of columns that are read, as far as both schemas have them. Empty means all.
    pub select: Vec<String>,
    /// Full names of the columns whose metrics are wanted.
    pub metrics: Vec<String>,
}

/// Some tasks of a plan.
#[derive(Debug, Default)]
pub struct TaskPage {
    /// `file-scan-tasks`.
    pub tasks: Vec<Json>,
    /// `delete-files`. The tasks refer to them by their places.
    pub deletes: Vec<Json>,
}

/// Plans scans of one table.
pub trait ScanPlanner: Send + Sync + Debug {
    /// Whether it plans scans of appended files.
    fn plans_appends(&self) -> bool;

    /// Asks for a plan. Returns when the server has made it.
    ///
    /// # Errors
    /// The server's refusal; `Store` for a plan that takes too long; a cancellation.
    fn plan(&self, scan: &ServedScan) -> Result<Box<dyn ServedPages>>;
}

/// A plan that a server made. Dropping it tells the server that the rest is not needed.
pub trait ServedPages: Send {
    /// The name of the plan, if the server gave one.
    fn plan_id(&self) -> Option<&str>;

    /// The options of the store of the plan's files. `None` if they are those of the table.
    fn storage_options(&self) -> Option<&BTreeMap<String, String>>;

    /// The next tasks. `None` at the end.
    ///
    /// # Errors
    /// The server's refusal; `CorruptTable` for an answer that is not a page; a cancellation.
    fn next_page(&mut self) -> Result<Option<TaskPage>>;
}
