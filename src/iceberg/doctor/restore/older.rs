//! An older metadata file that takes in the snapshots that were made after it.
//!
//! It still knows properties, branches, tags, sort orders and statistics, which manifest lists do not have.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value as Json, json};

use super::lists::{FoundList, next_row_id, of_list, step, unless_lost};
use crate::error::Result;
use crate::format::diagnosis::repair::RepairStep;
use crate::format::evolution::RefKind;
use crate::iceberg::catalog::metadata_files::numbered_files;
use crate::iceberg::doctor::mend;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::metadata_json::{metadata_from_json, read_json};
use crate::parallel::check_cancelled;
use crate::store::Store;

/// The newest metadata file of the table that can be read, with its path. The folder may also have files of another
/// table: those whose newest snapshot no list continues.
///
/// # Errors
/// Those of the store, except for files that are missing or damaged.
pub(super) fn older_version(store: &dyn Store, root: &str, lists: &[FoundList]) -> Result<Option<(String, Json)>> {
    for path in numbered_files(store, root)? {
        check_cancelled()?;
        let Some(json) = unless_lost(store.get(&path))?.and_then(|bytes| read_json(&bytes).ok()) else { continue };
        let Ok(metadata) = metadata_from_json(json.clone()) else { continue };
        let goes_on = |id: i64| lists.iter().any(|list| list.snapshot == id || list.parent == Some(id));
        if metadata.current_snapshot_id.is_none_or(goes_on) {
            return Ok(Some((path, json)));
        }
    }
    Ok(None)
}

/// Adds the snapshots of newer lists to an older version. A branch goes on with the snapshots that follow its own.
///
/// # Errors
/// `CorruptTable` if the result is no valid table.
pub(super) fn with_newer(
    (path, mut json): (String, Json),
    lists: &[FoundList],
    (schemas, specs): (&BTreeMap<i64, Json>, &BTreeMap<i64, Json>),
) -> Result<(TableMetadata, Vec<RepairStep>)> {
    let base = metadata_from_json(json.clone())?;
    let is_newer = |list: &&FoundList| match list.sequence {
        0 => list.time_ms > base.last_updated_ms,
        sequence => sequence > base.last_sequence_number,
    };
    let newer: Vec<&FoundList> = lists.iter().filter(is_newer).collect();
    let mut steps = vec![step(&path, format!("goes on from it, with {} newer snapshots", newer.len()))];
    let heads = moved_heads(&base, &newer);
    if let Some(members) = json.as_object_mut() {
        let schema = add_documents(members, ("schemas", "schema-id", "current-schema-id"), schemas);
        add_documents(members, ("partition-specs", "spec-id", "default-spec-id"), specs);
        let known: HashSet<i64> = lists.iter().map(|list| list.snapshot).collect();
        let mut snapshots = take(members, "snapshots");
        // Snapshots without a list have expired since.
        snapshots.retain(|s| s.get("snapshot-id").and_then(Json::as_i64).is_some_and(|id| known.contains(&id)));
        snapshots.extend(newer.iter().map(|list| of_list(list, schema)));
        members.insert("snapshots".to_owned(), json!(snapshots));
        let mut log = take(members, "snapshot-log");
        log.extend(newer.iter().map(|list| json!({"snapshot-id": list.snapshot, "timestamp-ms": list.time_ms})));
        members.insert("snapshot-log".to_owned(), json!(log));
        let sequence = newer.iter().map(|list| list.sequence).chain([base.last_sequence_number]).max();
        members.insert("last-sequence-number".to_owned(), json!(sequence));
        if base.format_version >= 3 {
            let rows = next_row_id(lists).max(base.next_row_id.unwrap_or(0));
            members.insert("next-row-id".to_owned(), json!(rows));
        }
        for (name, id) in &heads {
            steps.push(step(name, format!("sets it to the newest snapshot {id}")));
            let refs = members.entry("refs").or_insert_with(|| json!({}));
            if let Some(Json::Object(reference)) = refs.get_mut(name) {
                reference.insert("snapshot-id".to_owned(), json!(id));
            } else if let Some(refs) = refs.as_object_mut() {
                refs.insert(name.clone(), json!({"snapshot-id": id, "type": "branch"}));
            }
        }
        if let Some(id) = heads.get(MAIN_BRANCH) {
            members.insert("current-snapshot-id".to_owned(), json!(id));
        }
    }
    let lost = "changes of properties, schemas, branches and tags that were made after it are lost";
    steps.push(step(&path, lost.to_owned()));
    let (json, mut mended) = mend::references(json);
    steps.append(&mut mended);
    Ok((metadata_from_json(json)?, steps))
}

/// The branches that go on, and their newest snapshots. Of branches that are at the same snapshot, `main` goes on.
fn moved_heads(base: &TableMetadata, newer: &[&FoundList]) -> BTreeMap<String, i64> {
    let mut heads: BTreeMap<&str, Option<i64>> = BTreeMap::from([(MAIN_BRANCH, base.current_snapshot_id)]);
    let branches = base.refs.iter().filter(|(_, reference)| reference.kind == RefKind::Branch);
    heads.extend(branches.map(|(name, reference)| (name.as_str(), Some(reference.snapshot_id))));
    let mut moved = BTreeMap::new();
    for list in newer {
        let is_at = |name: &str| heads.get(name).is_some_and(|head| *head == list.parent);
        let others = heads.keys().copied().find(|name| is_at(name));
        if let Some(name) = Some(MAIN_BRANCH).filter(|name| is_at(name)).or(others) {
            heads.insert(name, Some(list.snapshot));
            moved.insert(name.to_owned(), list.snapshot);
        }
    }
    moved
}

/// Adds the documents that a list lacks. Returns the id of the current one: the highest, if some were added.
fn add_documents(
    members: &mut Map<String, Json>,
    (key, id_key, current): (&str, &str, &str),
    more: &BTreeMap<i64, Json>,
) -> i64 {
    let mut documents = take(members, key);
    let id = |json: &Json| json.get(id_key).and_then(Json::as_i64).unwrap_or(0);
    let known: HashSet<i64> = documents.iter().map(id).collect();
    let new: Vec<&Json> = more.iter().filter(|(id, _)| !known.contains(*id)).map(|(_, json)| json).collect();
    documents.extend(new.iter().map(|json| (*json).clone()));
    let highest = documents.iter().map(id).max().unwrap_or(0);
    members.insert(key.to_owned(), json!(documents));
    if !new.is_empty() {
        members.insert(current.to_owned(), json!(highest));
    }
    members.get(current).and_then(Json::as_i64).unwrap_or(highest)
}

/// Takes a list out of a document; empty if it has no such list.
fn take(members: &mut Map<String, Json>, key: &str) -> Vec<Json> {
    match members.remove(key) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}
