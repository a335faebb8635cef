//! `snapshots`, `history`, `refs` and `metadata_log_entries`: from the metadata file alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, StringArray, TimestampMicrosecondArray};
use arrow::record_batch::RecordBatch;

use super::arrays::{field, longs, maps};
use crate::error::Result;
use crate::format::evolution::RefKind;
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;

/// Timestamps in milliseconds as Arrow's in microseconds, UTC.
pub(crate) fn timestamps(ms: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let micros: TimestampMicrosecondArray = ms.map(|ms| ms.map(|ms| ms.saturating_mul(1000))).collect();
    Arc::new(micros.with_timezone("UTC"))
}

/// The snapshots in the recorded order.
pub(crate) fn snapshots(of: &Inspection<'_>) -> Result<RecordBatch> {
    let all = || of.walk.metadata.snapshots.iter();
    // The operation has a column of its own. Without an operation there was no summary.
    let summary = |s: &Arc<Snapshot>| s.operation().map(|_| s.summary.len() - 1);
    let members = || all().flat_map(|s| s.summary.iter()).filter(|(key, _)| *key != "operation");
    let (keys, values): (Vec<&str>, Vec<&str>) = members().map(|(k, v)| (k.as_str(), v.as_str())).unzip();
    let summaries = maps(
        field(&of.schema, "summary")?,
        all().map(summary),
        Arc::new(StringArray::from(keys)),
        Arc::new(StringArray::from(values)),
    )?;
    of.batch(vec![
        timestamps(all().map(|s| Some(s.timestamp_ms))),
        longs(all().map(|s| Some(s.id))),
        longs(all().map(|s| s.parent_id)),
        Arc::new(all().map(|s| s.operation()).collect::<StringArray>()),
        Arc::new(all().map(|s| s.manifest_list.as_deref()).collect::<StringArray>()),
        summaries,
    ])
}

/// The snapshot log; only the ids of expired snapshots are known.
pub(crate) fn history(of: &Inspection<'_>) -> Result<RecordBatch> {
    let metadata = of.walk.metadata;
    let log = || metadata.snapshot_log.iter();
    let ancestors: HashSet<i64> =
        metadata.current_snapshot_id.iter().flat_map(|id| metadata.ancestors(*id)).map(|s| s.id).collect();
    let by_id: HashMap<i64, &Arc<Snapshot>> = metadata.snapshots.iter().map(|s| (s.id, s)).collect();
    of.batch(vec![
        timestamps(log().map(|e| Some(e.timestamp_ms))),
        longs(log().map(|e| Some(e.snapshot_id))),
        longs(log().map(|e| by_id.get(&e.snapshot_id).and_then(|s| s.parent_id))),
        Arc::new(log().map(|e| Some(ancestors.contains(&e.snapshot_id))).collect::<BooleanArray>()),
    ])
}

/// Branches and tags by name.
pub(crate) fn refs(of: &Inspection<'_>) -> Result<RecordBatch> {
    let refs = &of.walk.metadata.refs;
    let kind = |kind: RefKind| match kind {
        RefKind::Branch => "BRANCH",
        RefKind::Tag => "TAG",
    };
    of.batch(vec![
        Arc::new(StringArray::from_iter_values(refs.keys())),
        Arc::new(StringArray::from_iter_values(refs.values().map(|r| kind(r.kind)))),
        longs(refs.values().map(|r| Some(r.snapshot_id))),
        longs(refs.values().map(|r| r.max_ref_age_ms)),
        Arc::new(refs.values().map(|r| r.min_snapshots_to_keep).collect::<Int32Array>()),
        longs(refs.values().map(|r| r.max_snapshot_age_ms)),
    ])
}

/// The earlier metadata files and the current one, each with the snapshot that was current then.
pub(crate) fn metadata_log(of: &Inspection<'_>) -> Result<RecordBatch> {
    let metadata = of.walk.metadata;
    let earlier = metadata.metadata_log.iter().map(|e| (e.timestamp_ms, e.metadata_file.as_str()));
    let now = (metadata.last_updated_ms, of.table.metadata_location());
    let files: Vec<(i64, &str)> = earlier.chain([now]).collect();
    let latest: Vec<Option<i64>> = files.iter().map(|(ms, _)| current_at(metadata, *ms)).collect();
    let snapshots: Vec<Option<&Arc<Snapshot>>> =
        latest.iter().map(|id| id.and_then(|id| metadata.snapshot_by_id(id))).collect();
    of.batch(vec![
        timestamps(files.iter().map(|(ms, _)| Some(*ms))),
        Arc::new(StringArray::from_iter_values(files.iter().map(|(_, file)| file))),
        longs(latest.iter().copied()),
        Arc::new(snapshots.iter().map(|s| s.and_then(|s| s.schema_id)).collect::<Int32Array>()),
        longs(snapshots.iter().map(|s| s.map(|s| s.sequence_number))),
    ])
}

/// The id in the snapshot log for a time, even if the snapshot has expired.
fn current_at(metadata: &TableMetadata, ms: i64) -> Option<i64> {
    let until = metadata.snapshot_log.iter().filter(|e| e.timestamp_ms <= ms);
    // If several entries have the same timestamp, the first one counts, as in time travel.
    until.reduce(|best, e| if e.timestamp_ms > best.timestamp_ms { e } else { best }).map(|e| e.snapshot_id)
}
