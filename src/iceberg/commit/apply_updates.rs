//! Applies updates to a table's metadata, as a catalog does that takes commits as requirements and updates. A new
//! table's metadata is made by its updates too.

use std::collections::HashSet;
use std::sync::Arc;

use super::update::{LAST_ADDED, MetadataUpdate, key_id};
use crate::error::{Error, Result};
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::metadata_json::highest_partition_field_id;
use crate::iceberg::spec::snapshot::{SnapshotRef, StatisticsFile, StatisticsKind};

/// The metadata after these updates, made at `now_ms`. The metadata log does not change.
///
/// # Errors
/// `InvalidInput`, `NotFound` or `CommitConflict` for an update that the metadata does not allow.
pub fn apply(base: &TableMetadata, updates: &[MetadataUpdate], now_ms: i64) -> Result<TableMetadata> {
    let mut state = UpdateState { next: base.clone(), added: HashSet::new(), last: [None; 3], now_ms };
    state.next.last_updated_ms = state.next.last_updated_ms.max(now_ms);
    for update in updates {
        state.apply(update).map_err(|e| e.with("update", update.action()))?;
    }
    Ok(state.next)
}

/// Metadata between one version and the next.
struct UpdateState {
    next: TableMetadata,
    /// Snapshots that this commit added.
    added: HashSet<i64>,
    /// The schema, spec and sort order that this commit added last.
    last: [Option<i32>; 3],
    now_ms: i64,
}

const SCHEMA: usize = 0;
const SPEC: usize = 1;
const SORT_ORDER: usize = 2;

impl UpdateState {
    fn apply(&mut self, update: &MetadataUpdate) -> Result<()> {
        use MetadataUpdate as U;
        let next = &mut self.next;
        match update {
            U::AssignUuid(uuid) => next.table_uuid = Some(uuid.clone()),
            U::UpgradeFormatVersion(version) => *next = next.upgrade_format_version(*version, self.now_ms)?,
            U::AddSchema { .. } | U::AddSpec(_) | U::AddSortOrder(_) => return self.add_layout(update),
            U::SetCurrentSchema(id) => {
                self.next.current_schema_id = self.named(SCHEMA, *id)?;
                self.next.schema()?;
            }
            U::SetDefaultSpec(id) => {
                self.next.default_spec_id = self.named(SPEC, *id)?;
                self.next.spec()?;
            }
            U::SetDefaultSortOrder(id) => {
                self.next.default_sort_order_id = self.named(SORT_ORDER, *id)?;
                self.next.sort_order()?;
            }
            U::AddSnapshot(snapshot) => {
                *next = next.stage_snapshot(snapshot.as_ref().clone(), self.now_ms)?;
                self.added.insert(snapshot.id);
            }
            U::SetSnapshotRef { name, reference } => return self.set_ref(name, reference),
            U::RemoveSnapshotRef(name) => {
                next.refs.remove(name);
                next.current_snapshot_id = next.current_snapshot_id.filter(|_| name != MAIN_BRANCH);
            }
            U::RemoveSnapshots(ids) => self.remove_snapshots(ids),
            U::SetLocation(location) => next.location.clone_from(location),
            U::SetProperties(properties) => next.properties.extend(properties.clone()),
            U::RemoveProperties(names) => next.properties.retain(|name, _| !names.contains(name)),
            U::SetStatistics(file) => {
                *next = next.with_statistics(StatisticsKind::Columns, file.clone(), self.now_ms)?;
            }
            U::SetPartitionStatistics(file) => {
                *next = next.with_statistics(StatisticsKind::Partitions, file.clone(), self.now_ms)?;
            }
            U::RemoveStatistics(id) => next.statistics.retain(|f| f.snapshot_id != *id),
            U::RemovePartitionStatistics(id) => next.partition_statistics.retain(|f| f.snapshot_id != *id),
            U::RemovePartitionSpecs(ids) => {
                check_unused(ids, next.default_spec_id, "partition spec")?;
                next.partition_specs.retain(|s| !ids.contains(&s.id));
            }
            U::RemoveSchemas(ids) => {
                check_unused(ids, next.current_schema_id, "schema")?;
                next.schemas.retain(|s| !ids.contains(&s.id));
            }
            U::AddEncryptionKey(key) => {
                next.encryption_keys.retain(|known| key_id(known) != key_id(key));
                next.encryption_keys.push(key.clone());
            }
            U::RemoveEncryptionKey(id) => next.encryption_keys.retain(|key| key_id(key) != Some(id.as_str())),
        }
        Ok(())
    }

    fn add_layout(&mut self, update: &MetadataUpdate) -> Result<()> {
        let next = &mut self.next;
        let taken = |what: &str, id: i32| Err(Error::invalid(format!("the table has a {what} with id {id} already")));
        match update {
            MetadataUpdate::AddSchema { schema, last_column_id } => {
                if next.schemas.iter().any(|s| s.id == schema.id) {
                    return taken("schema", schema.id);
                }
                let highest = last_column_id.unwrap_or_default().max(schema.highest_field_id());
                next.last_column_id = next.last_column_id.max(highest);
                next.schemas.push(schema.clone());
                self.last[SCHEMA] = Some(schema.id);
            }
            MetadataUpdate::AddSpec(spec) => {
                if next.partition_specs.iter().any(|s| s.id == spec.id) {
                    return taken("partition spec", spec.id);
                }
                let highest = highest_partition_field_id(std::slice::from_ref(spec));
                next.last_partition_id = next.last_partition_id.max(highest);
                next.partition_specs.push(spec.clone());
                self.last[SPEC] = Some(spec.id);
            }
            MetadataUpdate::AddSortOrder(order) => {
                if next.sort_orders.iter().any(|s| s.id == order.id) {
                    return taken("sort order", order.id);
                }
                next.sort_orders.push(order.clone());
                self.last[SORT_ORDER] = Some(order.id);
            }
            _ => {}
        }
        Ok(())
    }

    /// The id that an update names.
    fn named(&self, what: usize, id: i32) -> Result<i32> {
        match id {
            LAST_ADDED => {
                self.last[what].ok_or_else(|| Error::invalid("the commit added nothing that it could refer to"))
            }
            id => Ok(id),
        }
    }

    fn set_ref(&mut self, name: &str, reference: &SnapshotRef) -> Result<()> {
        let id = reference.snapshot_id;
        let missing = || Error::not_found("the table has no such snapshot").with("snapshot", id).with("ref", name);
        let made_ms = self.next.snapshot_by_id(id).ok_or_else(missing)?.timestamp_ms;
        if name == MAIN_BRANCH && self.next.current_snapshot_id != Some(id) {
            let at = if self.added.contains(&id) { made_ms } else { self.now_ms };
            self.next.set_current(id, at);
        }
        self.next.refs.insert(name.to_owned(), reference.clone());
        Ok(())
    }

    /// Removes snapshots with their statistics and references. The log is cut after the last removed snapshot.
    fn remove_snapshots(&mut self, ids: &[i64]) {
        let next = &mut self.next;
        next.snapshots.retain(|s| !ids.contains(&s.id));
        next.refs.retain(|_, r| !ids.contains(&r.snapshot_id));
        let of_kept = |file: &Arc<StatisticsFile>| !ids.contains(&file.snapshot_id);
        next.statistics.retain(of_kept);
        next.partition_statistics.retain(of_kept);
        let kept: HashSet<i64> = next.snapshots.iter().map(|s| s.id).collect();
        let hole = next.snapshot_log.iter().rposition(|e| !kept.contains(&e.snapshot_id));
        next.snapshot_log.drain(..hole.map_or(0, |at| at + 1));
    }
}

fn check_unused(ids: &[i32], used: i32, what: &str) -> Result<()> {
    match ids.contains(&used) {
        true => Err(Error::invalid(format!("the {what} {used} is in use and can't be removed"))),
        false => Ok(()),
    }
}
