//! What a catalog is told about scans and commits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::expr::BoundPredicate;
use crate::iceberg::plan::planned::PlanCounters;
use crate::types::FieldId;

/// A plan that has ended.
#[derive(Clone, Debug)]
pub struct ScanReport {
    /// The snapshot.
    pub snapshot_id: i64,
    /// The schema that the filter is bound to.
    pub schema_id: i32,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
    /// The columns that are read, by id and full name.
    pub columns: Vec<(FieldId, String)>,
    /// What the plan counted.
    pub counters: PlanCounters,
}

/// A commit that has succeeded.
#[derive(Clone, Debug)]
pub struct CommitReport {
    /// The snapshot that it added.
    pub snapshot_id: i64,
    /// The snapshot's sequence number.
    pub sequence_number: i64,
    /// The snapshot's summary, with its operation.
    pub summary: BTreeMap<String, String>,
    /// How often the commit was tried.
    pub attempts: u32,
    /// How long all attempts took.
    pub duration: Duration,
}

/// A report.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum MetricsReport {
    Scan(Box<ScanReport>),
    Commit(Box<CommitReport>),
}
