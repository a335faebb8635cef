//! Whether a version has the effects of a commit.

use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::commit::requirement::MetadataRequirement;
use crate::iceberg::commit::update::{LAST_ADDED, MetadataUpdate};
use crate::iceberg::spec::metadata::TableMetadata;

/// Whether `newest` has all effects of a commit that was built on another version.
pub(in crate::iceberg::catalog) fn has_effects(newest: &TableMetadata, commit: &MetadataCommit) -> bool {
    let added: Vec<i64> = commit.added_snapshots().collect();
    !commit.updates.is_empty() && commit.updates.iter().all(|update| has_effect(newest, commit, &added, update))
}

/// Whether a version has a snapshot, or its current snapshot follows it. Some servers show the current one only.
pub(in crate::iceberg::catalog) fn has_snapshot(newest: &TableMetadata, id: i64) -> bool {
    newest.snapshot_by_id(id).is_some() || newest.current_snapshot().is_some_and(|s| s.parent_id == Some(id))
}

/// Whether a version that a server returned for a commit shows the commit's new snapshots. Of several that follow each
/// other, some servers show the last one only.
pub(super) fn shows_snapshots(returned: &TableMetadata, commit: &MetadataCommit) -> bool {
    let next = &commit.next;
    let is_last = |id: i64| {
        commit.added_snapshots().all(|other| next.snapshot_by_id(other).is_none_or(|s| s.parent_id != Some(id)))
    };
    let mut expected = commit.added_snapshots().filter(|id| next.snapshot_by_id(*id).is_some() && is_last(*id));
    expected.all(|id| {
        returned.snapshot_by_id(id).is_some() || returned.refs.values().any(|reference| reference.snapshot_id == id)
    })
}

fn has_effect(newest: &TableMetadata, commit: &MetadataCommit, added: &[i64], update: &MetadataUpdate) -> bool {
    use MetadataUpdate as U;
    let next = &commit.next;
    match update {
        U::AssignUuid(uuid) => newest.table_uuid.as_deref() == Some(uuid),
        U::UpgradeFormatVersion(version) => newest.format_version >= *version,
        U::AddSchema { schema, .. } => newest.schemas.iter().any(|s| s.fields == schema.fields),
        U::SetCurrentSchema(_) => match (newest.schema(), next.schema()) {
            (Ok(now), Ok(wanted)) => now.fields == wanted.fields,
            _ => false,
        },
        U::AddSpec(spec) => newest.partition_specs.iter().any(|s| s.fields == spec.fields),
        U::SetDefaultSpec(_) => match (newest.spec(), next.spec()) {
            (Ok(now), Ok(wanted)) => now.fields == wanted.fields,
            _ => false,
        },
        U::AddSortOrder(order) => newest.sort_orders.iter().any(|o| o.fields == order.fields),
        U::SetDefaultSortOrder(id) => match *id {
            LAST_ADDED => {
                matches!((newest.sort_order(), next.sort_order()), (Ok(now), Ok(wanted)) if now.fields == wanted.fields)
            }
            id => newest.default_sort_order_id == id,
        },
        U::AddSnapshot(snapshot) => has_snapshot(newest, snapshot.id),
        // A later commit may have moved the branch away from a new snapshot.
        U::SetSnapshotRef { reference, .. } if added.contains(&reference.snapshot_id) => true,
        U::SetSnapshotRef { name, reference } => {
            let is_later = next.refs.get(name).is_some_and(|last| last.snapshot_id != reference.snapshot_id);
            is_later || newest.refs.get(name) == Some(reference)
        }
        U::RemoveSnapshots(ids) => ids.iter().all(|id| newest.snapshot_by_id(*id).is_none()),
        U::RemoveSnapshotRef(name) => !newest.refs.contains_key(name),
        U::SetLocation(location) => newest.location == *location,
        U::SetProperties(set) => set.iter().all(|(name, value)| newest.properties.get(name) == Some(value)),
        U::RemoveProperties(names) => names.iter().all(|name| !newest.properties.contains_key(name)),
        U::SetStatistics(file) => newest.statistics.contains(file),
        U::RemoveStatistics(id) => newest.statistics.iter().all(|f| f.snapshot_id != *id),
        U::SetPartitionStatistics(file) => newest.partition_statistics.contains(file),
        U::RemovePartitionStatistics(id) => newest.partition_statistics.iter().all(|f| f.snapshot_id != *id),
        U::RemovePartitionSpecs(ids) => newest.partition_specs.iter().all(|s| !ids.contains(&s.id)),
        U::RemoveSchemas(ids) => newest.schemas.iter().all(|s| !ids.contains(&s.id)),
        U::AddEncryptionKey(key) => newest.encryption_keys.contains(key),
        U::RemoveEncryptionKey(id) => {
            newest.encryption_keys.iter().all(|key| key.get("key-id").and_then(|k| k.as_str()) != Some(id))
        }
    }
}

/// What the newest version tells about a commit whose answer was no success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It has the commit.
    Made,
    /// It does not have the commit, and another one came first. The commit's requirements can't be met any more.
    Overtaken,
    /// It does not have the commit yet.
    NotYet,
    /// Its history is hidden, so nothing is known.
    Hidden,
}

/// Looks for a commit that was built on `base`.
pub(super) fn seen(newest: &TableMetadata, base: &TableMetadata, commit: &MetadataCommit) -> Seen {
    let is_newer = newest.last_updated_ms != base.last_updated_ms || newest != base;
    if is_newer && has_effects(newest, commit) {
        return Seen::Made;
    }
    let required = commit.requirements.iter().filter_map(|requirement| match requirement {
        MetadataRequirement::AssertRefSnapshotId { name, snapshot_id } => Some((name.as_str(), *snapshot_id)),
        _ => None,
    });
    let mut out = Seen::NotYet;
    for (name, id) in required {
        let head = newest.refs.get(name).map(|r| r.snapshot_id).or(newest.current_snapshot_id);
        match head {
            head if head == id => {}
            // All snapshots since the base are visible.
            Some(head) if newest.ancestors(head).iter().any(|s| Some(s.id) == id || s.parent_id == id) => {
                out = Seen::Overtaken;
            }
            _ if commit.added_snapshots().next().is_none() => {}
            _ => return Seen::Hidden,
        }
    }
    out
}
