//! Finds expired snapshots and references, and builds the table's metadata without them.
//!
//! A branch keeps its recent snapshots and a minimum number of the newest. A tag keeps its own snapshot. References
//! other than `main` are removed when their snapshot is too old. Snapshots that no reference leads to are removed too.
//!
//! Source: Iceberg specification, "Snapshot Retention Policy"; where it is silent, Java's `RemoveSnapshots`.

use crate::format::maintenance::Expiry;
use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::snapshot::SnapshotRef;

/// The property with the maximum age of snapshots, and its default: five days in milliseconds.
const MAX_SNAPSHOT_AGE_MS: (&str, i64) = ("history.expire.max-snapshot-age-ms", 5 * 24 * 60 * 60 * 1000);

/// The property with the number of snapshots that a branch keeps at any age.
const MIN_SNAPSHOTS_TO_KEEP: (&str, i64) = ("history.expire.min-snapshots-to-keep", 1);

/// The property with the maximum age of references, in milliseconds.
const MAX_REF_AGE_MS: (&str, i64) = ("history.expire.max-ref-age-ms", i64::MAX);

/// The rules as numbers.
struct Rules {
    now_ms: i64,
    older_than_ms: i64,
    keep: i64,
    max_ref_age_ms: i64,
}

impl Rules {
    fn of(base: &TableMetadata, expiry: &Expiry, now_ms: i64) -> Result<Rules> {
        let property = |(name, default): (&str, i64)| base.int_property(name, default);
        let keep = expiry.retain_last.map_or_else(|| property(MIN_SNAPSHOTS_TO_KEEP), Ok)?;
        if keep < 1 {
            return Err(Error::invalid(format!("at least 1 snapshot is retained, not {keep}")));
        }
        let max_age_ms = property(MAX_SNAPSHOT_AGE_MS)?;
        Ok(Rules {
            now_ms,
            older_than_ms: expiry.older_than_ms.unwrap_or_else(|| now_ms.saturating_sub(max_age_ms)),
            keep,
            max_ref_age_ms: property(MAX_REF_AGE_MS)?,
        })
    }

    fn keeps_ref(&self, base: &TableMetadata, name: &str, reference: &SnapshotRef) -> bool {
        let most = reference.max_ref_age_ms.unwrap_or(self.max_ref_age_ms);
        let age = base.snapshot_by_id(reference.snapshot_id).map(|s| self.now_ms.saturating_sub(s.timestamp_ms));
        name == MAIN_BRANCH || age.is_some_and(|age| age <= most)
    }

    /// The snapshots that a branch keeps: from its head to the first snapshot that is neither needed nor recent.
    fn kept_by_branch(&self, base: &TableMetadata, branch: &SnapshotRef) -> Vec<i64> {
        let oldest = branch.max_snapshot_age_ms.map_or(self.older_than_ms, |age| self.now_ms.saturating_sub(age));
        let keep = branch.min_snapshots_to_keep.map_or(self.keep, i64::from);
        let ancestors = base.ancestors(branch.snapshot_id).into_iter().zip(0i64..);
        ancestors.take_while(|(s, n)| *n < keep || s.timestamp_ms >= oldest).map(|(s, _)| s.id).collect()
    }
}

/// The table without snapshots and references that have expired at `now_ms` (milliseconds since the epoch). Equal to
/// `base` if nothing has expired.
///
/// # Errors
/// `InvalidInput` if a snapshot to remove has a reference that stays, if no snapshot would be kept, or if a property
/// is not a number.
pub fn expire(base: &TableMetadata, expiry: &Expiry, now_ms: i64) -> Result<TableMetadata> {
    let rules = Rules::of(base, expiry, now_ms)?;
    let kept_refs: BTreeMap<String, SnapshotRef> = (base.refs.iter())
        .filter(|(name, r)| rules.keeps_ref(base, name, r))
        .map(|(name, r)| (name.clone(), r.clone()))
        .collect();
    let named: HashSet<i64> = expiry.snapshot_ids.iter().copied().collect();
    if let Some((name, r)) = kept_refs.iter().find(|(_, r)| named.contains(&r.snapshot_id)) {
        return Err(Error::invalid("a snapshot of a branch or tag can't expire")
            .with("snapshot", r.snapshot_id)
            .with("ref", name)
            .hint("Drop or move the branch or tag first"));
    }
    let mut kept: HashSet<i64> = kept_refs.values().map(|r| r.snapshot_id).collect();
    let mut led_to = kept.clone();
    for branch in kept_refs.values().filter(|r| r.kind == RefKind::Branch) {
        kept.extend(rules.kept_by_branch(base, branch));
        led_to.extend(base.ancestors(branch.snapshot_id).iter().map(|s| s.id));
    }
    let alone = base.snapshots.iter().filter(|s| !led_to.contains(&s.id) && s.timestamp_ms >= rules.older_than_ms);
    kept.extend(alone.map(|s| s.id));
    kept.retain(|id| !named.contains(id));
    // Tables of old writers have no reference `main`.
    kept.extend(base.current_snapshot_id);
    Ok(without(base, &kept, kept_refs, now_ms))
}

/// The metadata with only these snapshots and references. The log is cut after the last removed snapshot, so that it
/// never shows a history with gaps (as in Java).
fn without(
    base: &TableMetadata,
    kept: &HashSet<i64>,
    refs: BTreeMap<String, SnapshotRef>,
    now_ms: i64,
) -> TableMetadata {
    if refs.len() == base.refs.len() && base.snapshots.iter().all(|s| kept.contains(&s.id)) {
        return base.clone();
    }
    let mut next = base.clone();
    let gone: HashSet<i64> = base.snapshots.iter().map(|s| s.id).filter(|id| !kept.contains(id)).collect();
    next.refs = refs;
    next.snapshots.retain(|s| kept.contains(&s.id));
    next.statistics.retain(|s| !gone.contains(&s.snapshot_id));
    next.partition_statistics.retain(|s| !gone.contains(&s.snapshot_id));
    if !gone.is_empty() {
        let hole = next.snapshot_log.iter().rposition(|e| !kept.contains(&e.snapshot_id));
        next.snapshot_log.drain(..hole.map_or(0, |at| at + 1));
    }
    next.last_updated_ms = next.last_updated_ms.max(now_ms);
    next
}

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;
