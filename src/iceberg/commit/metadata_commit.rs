//! A commit as requirements and updates: the difference between two versions of a table's metadata. It is computed
//! once.
//!
//! Catalogs that keep metadata files write [`MetadataCommit::next`]. A REST catalog receives
//! [`MetadataCommit::to_json`] and builds the next version itself, as [`apply`] does. A new table is a commit too:
//! [`MetadataCommit::creating`].
//!
//! Source: `CommitTableRequest` of Iceberg's REST catalog specification; requirements as in Java's
//! `UpdateRequirements`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::apply_updates::apply;
use super::requirement::{MetadataRequirement, snapshot_of};
use super::update::{LAST_ADDED, MetadataUpdate, key_id};
use crate::error::Result;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::snapshot::{Snapshot, SnapshotLogEntry, SnapshotRef, StatisticsFile};

/// A commit that is ready to be published.
#[derive(Clone, Debug)]
pub struct MetadataCommit {
    /// The conditions that the table must still meet.
    pub requirements: Vec<MetadataRequirement>,
    /// The changes, in order.
    pub updates: Vec<MetadataUpdate>,
    /// The version that the updates produce, with the log of earlier metadata files.
    pub next: TableMetadata,
}

impl MetadataCommit {
    /// The snapshots that the commit adds.
    pub fn added_snapshots(&self) -> impl Iterator<Item = i64> + '_ {
        self.updates.iter().filter_map(|update| match update {
            MetadataUpdate::AddSnapshot(snapshot) => Some(snapshot.id),
            _ => None,
        })
    }

    /// The commit that turns `base` into `next`.
    pub fn between(base: &TableMetadata, next: TableMetadata) -> MetadataCommit {
        let updates = updates(base, &next);
        let commit = MetadataCommit { requirements: requirements(base, &updates), updates, next };
        #[cfg(test)]
        tests::check_replay(base, &commit);
        commit
    }

    /// The commit that creates a table with this metadata. `next` is the result of its updates, so every catalog
    /// creates the same table. The log of metadata files and unknown members are left out.
    ///
    /// # Errors
    /// Errors of [`apply`] for metadata that updates can't produce.
    pub fn creating(table: &TableMetadata) -> Result<MetadataCommit> {
        let mut updates = Vec::new();
        updates.extend(table.table_uuid.clone().map(MetadataUpdate::AssignUuid));
        updates.push(MetadataUpdate::UpgradeFormatVersion(table.format_version));
        let nothing = TableMetadata {
            format_version: table.format_version,
            table_uuid: table.table_uuid.clone(),
            current_schema_id: LAST_ADDED,
            default_spec_id: LAST_ADDED,
            default_sort_order_id: LAST_ADDED,
            ..TableMetadata::default()
        };
        updates.extend(self::updates(&nothing, table));
        let next = apply(&TableMetadata::default(), &updates, table.last_updated_ms)?;
        Ok(MetadataCommit { requirements: vec![MetadataRequirement::AssertCreate], updates, next })
    }

    /// The commit, which also requires that a branch has not moved since `base`.
    #[must_use]
    pub fn holding(mut self, base: &TableMetadata, branch: &str) -> MetadataCommit {
        let snapshot_id = snapshot_of(base, branch);
        let held = MetadataRequirement::AssertRefSnapshotId { name: branch.to_owned(), snapshot_id };
        if !self.requirements.contains(&held) {
            self.requirements.push(held);
        }
        self
    }

    /// Whether it creates the table.
    pub fn creates(&self) -> bool {
        self.requirements.contains(&MetadataRequirement::AssertCreate)
    }

    /// The body of a REST catalog's request, without the table's identifier.
    pub fn to_json(&self) -> Json {
        let requirements: Vec<Json> = self.requirements.iter().map(MetadataRequirement::to_json).collect();
        let updates: Vec<Json> = self.updates.iter().map(MetadataUpdate::to_json).collect();
        json!({"requirements": requirements, "updates": updates})
    }
}

/// The changes that turn `base` into `next`, in an order in which a catalog can apply them.
///
/// They don't include the metadata log and the time of the update. The publisher of the commit sets those.
fn updates(base: &TableMetadata, next: &TableMetadata) -> Vec<MetadataUpdate> {
    let mut out = Vec::new();
    if let Some(uuid) = next.table_uuid.as_ref().filter(|_| base.table_uuid != next.table_uuid) {
        out.push(MetadataUpdate::AssignUuid(uuid.clone()));
    }
    let new = add_upgrades(base, next, &mut out);
    add_layout(base, next, &mut out);
    if base.location != next.location {
        out.push(MetadataUpdate::SetLocation(next.location.clone()));
    }
    add_properties(base, next, &mut out);
    out.extend(new.into_iter().map(MetadataUpdate::AddSnapshot));
    add_refs(base, next, &mut out);
    add_statistics(
        &base.statistics,
        &next.statistics,
        &mut out,
        MetadataUpdate::SetStatistics,
        MetadataUpdate::RemoveStatistics,
    );
    add_statistics(
        &base.partition_statistics,
        &next.partition_statistics,
        &mut out,
        MetadataUpdate::SetPartitionStatistics,
        MetadataUpdate::RemovePartitionStatistics,
    );
    add_keys(base, next, &mut out);
    remove_layout(base, next, &mut out);
    out
}

/// The id as an update refers to it: [`LAST_ADDED`] if the commit added the value last.
fn named(id: i32, last_added: Option<i32>) -> i32 {
    if last_added == Some(id) { LAST_ADDED } else { id }
}

/// Adds new schemas, specs and sort orders, and the choice of the current ones.
fn add_layout(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    let mut last = None;
    for schema in next.schemas.iter().filter(|s| base.schemas.iter().all(|b| b.id != s.id)) {
        out.push(MetadataUpdate::AddSchema { schema: schema.clone(), last_column_id: Some(next.last_column_id) });
        last = Some(schema.id);
    }
    if base.current_schema_id != next.current_schema_id {
        out.push(MetadataUpdate::SetCurrentSchema(named(next.current_schema_id, last)));
    }
    let mut last = None;
    for spec in next.partition_specs.iter().filter(|s| base.partition_specs.iter().all(|b| b.id != s.id)) {
        out.push(MetadataUpdate::AddSpec(spec.clone()));
        last = Some(spec.id);
    }
    if base.default_spec_id != next.default_spec_id {
        out.push(MetadataUpdate::SetDefaultSpec(named(next.default_spec_id, last)));
    }
    let mut last = None;
    for order in next.sort_orders.iter().filter(|s| base.sort_orders.iter().all(|b| b.id != s.id)) {
        out.push(MetadataUpdate::AddSortOrder(order.clone()));
        last = Some(order.id);
    }
    if base.default_sort_order_id != next.default_sort_order_id {
        out.push(MetadataUpdate::SetDefaultSortOrder(named(next.default_sort_order_id, last)));
    }
}

fn remove_layout(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    let specs = base.partition_specs.iter().map(|s| s.id);
    let specs: Vec<i32> = specs.filter(|id| next.partition_specs.iter().all(|s| s.id != *id)).collect();
    if !specs.is_empty() {
        out.push(MetadataUpdate::RemovePartitionSpecs(specs));
    }
    let schemas = base.schemas.iter().map(|s| s.id);
    let schemas: Vec<i32> = schemas.filter(|id| next.schemas.iter().all(|s| s.id != *id)).collect();
    if !schemas.is_empty() {
        out.push(MetadataUpdate::RemoveSchemas(schemas));
    }
}

fn add_properties(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    let set = next.properties.iter().filter(|(name, value)| base.properties.get(*name) != Some(value));
    let set: BTreeMap<String, String> = set.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !set.is_empty() {
        out.push(MetadataUpdate::SetProperties(set));
    }
    let removed = base.properties.keys().filter(|name| !next.properties.contains_key(*name));
    let removed: Vec<String> = removed.cloned().collect();
    if !removed.is_empty() {
        out.push(MetadataUpdate::RemoveProperties(removed));
    }
}

/// Raises the format version, after the new snapshots of the lower version. Returns the other new snapshots.
fn add_upgrades(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) -> Vec<Arc<Snapshot>> {
    let old: HashSet<i64> = base.snapshots.iter().map(|s| s.id).collect();
    let mut new: Vec<_> = next.snapshots.iter().filter(|s| !old.contains(&s.id)).cloned().collect();
    let mut reached = base.format_version;
    for version in base.format_version..next.format_version {
        let (own, later): (Vec<_>, Vec<_>) = new.into_iter().partition(|s| is_of_version(s, version));
        if !own.is_empty() && reached != version {
            out.push(MetadataUpdate::UpgradeFormatVersion(version));
            reached = version;
        }
        out.extend(own.into_iter().map(MetadataUpdate::AddSnapshot));
        new = later;
    }
    if reached != next.format_version {
        out.push(MetadataUpdate::UpgradeFormatVersion(next.format_version));
    }
    new
}

/// Whether a snapshot was made before the table was upgraded from this format version.
fn is_of_version(snapshot: &Snapshot, version: u8) -> bool {
    match version {
        1 => snapshot.sequence_number == 0,
        2 => snapshot.first_row_id.is_none(),
        _ => false,
    }
}

/// Adds references, then removals of snapshots. This way no reference ever names a missing snapshot.
fn add_refs(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    add_main(base, next, out);
    for (name, reference) in next.refs.iter().filter(|(name, _)| *name != MAIN_BRANCH) {
        if base.refs.get(name) != Some(reference) {
            out.push(MetadataUpdate::SetSnapshotRef { name: name.clone(), reference: reference.clone() });
        }
    }
    // Tables of old writers have a current snapshot without a branch.
    if base.current_snapshot_id.is_some() && next.current_snapshot_id.is_none() && !base.refs.contains_key(MAIN_BRANCH)
    {
        out.push(MetadataUpdate::RemoveSnapshotRef(MAIN_BRANCH.to_owned()));
    }
    let dropped = base.refs.keys().filter(|name| !next.refs.contains_key(*name));
    out.extend(dropped.cloned().map(MetadataUpdate::RemoveSnapshotRef));
    let kept: HashSet<i64> = next.snapshots.iter().map(|s| s.id).collect();
    let gone = base.snapshots.iter().map(|s| s.id);
    let gone: Vec<i64> = gone.filter(|id| !kept.contains(id)).collect();
    if !gone.is_empty() {
        out.push(MetadataUpdate::RemoveSnapshots(gone));
    }
}

/// Moves `main` to every snapshot that it was at, in the order of the log, so that the catalog's log becomes the same.
fn add_main(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    let Some(main) = next.refs.get(MAIN_BRANCH) else { return };
    let mut logged = new_log_entries(base, next).iter().map(|e| e.snapshot_id).collect::<Vec<i64>>();
    let at = logged.last().copied().or(base.current_snapshot_id);
    if at != Some(main.snapshot_id) || (logged.is_empty() && base.refs.get(MAIN_BRANCH) != Some(main)) {
        logged.push(main.snapshot_id);
    }
    let set = |snapshot_id| MetadataUpdate::SetSnapshotRef {
        name: MAIN_BRANCH.to_owned(),
        reference: SnapshotRef { snapshot_id, ..main.clone() },
    };
    out.extend(logged.into_iter().map(set));
}

/// The log entries that `base` does not have. Removing snapshots removes entries at the front.
fn new_log_entries<'n>(base: &TableMetadata, next: &'n TableMetadata) -> &'n [SnapshotLogEntry] {
    let (old, new) = (&base.snapshot_log, &next.snapshot_log);
    let kept = (0..=old.len()).find(|from| new.starts_with(&old[*from..])).map_or(0, |from| old.len() - from);
    new.get(kept..).unwrap_or_default()
}

fn add_statistics(
    base: &[Arc<StatisticsFile>],
    next: &[Arc<StatisticsFile>],
    out: &mut Vec<MetadataUpdate>,
    set: impl Fn(Arc<StatisticsFile>) -> MetadataUpdate,
    remove: impl Fn(i64) -> MetadataUpdate,
) {
    out.extend(next.iter().filter(|file| !base.contains(file)).cloned().map(set));
    let mut removed = HashSet::new();
    for file in base.iter().filter(|file| next.iter().all(|n| n.snapshot_id != file.snapshot_id)) {
        if removed.insert(file.snapshot_id) {
            out.push(remove(file.snapshot_id));
        }
    }
}

fn add_keys(base: &TableMetadata, next: &TableMetadata, out: &mut Vec<MetadataUpdate>) {
    let new = next.encryption_keys.iter().filter(|key| !base.encryption_keys.contains(key));
    out.extend(new.cloned().map(MetadataUpdate::AddEncryptionKey));
    let ids: HashSet<&str> = next.encryption_keys.iter().filter_map(key_id).collect();
    let gone = base.encryption_keys.iter().filter_map(key_id).filter(|id| !ids.contains(id));
    out.extend(gone.map(|id| MetadataUpdate::RemoveEncryptionKey(id.to_owned())));
}

/// The conditions under which the updates mean the same as on `base`.
fn requirements(base: &TableMetadata, updates: &[MetadataUpdate]) -> Vec<MetadataRequirement> {
    use MetadataRequirement as R;
    use MetadataUpdate as U;
    let mut out: Vec<R> = base.table_uuid.clone().map(R::AssertTableUuid).into_iter().collect();
    let of_ref = |name: &str| R::AssertRefSnapshotId { name: name.to_owned(), snapshot_id: snapshot_of(base, name) };
    for update in updates {
        let asked = match update {
            U::AddSchema { .. } => vec![R::AssertLastAssignedFieldId(base.last_column_id)],
            U::SetCurrentSchema(_) => vec![R::AssertCurrentSchemaId(base.current_schema_id)],
            U::AddSpec(_) => vec![R::AssertLastAssignedPartitionId(base.last_partition_id)],
            U::SetDefaultSpec(_) => vec![R::AssertDefaultSpecId(base.default_spec_id)],
            U::SetDefaultSortOrder(_) => vec![R::AssertDefaultSortOrderId(base.default_sort_order_id)],
            U::SetSnapshotRef { name, .. } | U::RemoveSnapshotRef(name) => vec![of_ref(name)],
            // Another commit may have started to use a schema or spec on any branch.
            U::RemoveSchemas(_) => {
                let refs = base.refs.keys().map(|name| of_ref(name));
                refs.chain([R::AssertCurrentSchemaId(base.current_schema_id)]).collect()
            }
            U::RemovePartitionSpecs(_) => {
                let refs = base.refs.keys().map(|name| of_ref(name));
                refs.chain([R::AssertDefaultSpecId(base.default_spec_id)]).collect()
            }
            _ => Vec::new(),
        };
        for requirement in asked {
            if !out.contains(&requirement) {
                out.push(requirement);
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "metadata_commit_tests.rs"]
mod tests;
