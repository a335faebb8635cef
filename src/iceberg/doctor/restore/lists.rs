//! Manifest lists that are left in the folder of a table, and what their manifests know of schemas and specs.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};

use crate::codec::avro::OpenFile;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::repair::{RepairKind, RepairStep};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile, decode_manifest_list};
use crate::parallel::check_cancelled;
use crate::store::{FileInfo, Store, in_parallel};
use crate::types::json_text;

/// What is there; `None` if it is missing or damaged.
///
/// # Errors
/// Every other error: a store that refuses or stays silent does not prove that anything is lost.
pub(super) fn unless_lost<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable) => Ok(None),
        Err(e) => Err(e),
    }
}

/// A manifest list that was found in the folder.
pub(super) struct FoundList {
    pub(super) path: String,
    pub(super) time_ms: i64,
    pub(super) snapshot: i64,
    pub(super) parent: Option<i64>,
    pub(super) sequence: i64,
    pub(super) version: u8,
    first_row_id: Option<i64>,
    pub(super) manifests: Vec<ManifestFile>,
}

/// Reads a file as a manifest list; `None` for other files.
pub(super) fn found_list(bytes: &[u8], file: &FileInfo) -> Option<FoundList> {
    let open = OpenFile::parse(bytes).ok()?;
    let head = open.head().ok()?;
    let number = |key: &str| head.metadata_text(key).ok().flatten().and_then(|text| text.trim().parse::<i64>().ok());
    let snapshot = number("snapshot-id")?;
    let manifests = decode_manifest_list(bytes).ok()?;
    Some(FoundList {
        path: file.path.clone(),
        time_ms: file.modified_ms,
        snapshot,
        parent: number("parent-snapshot-id"),
        sequence: number("sequence-number").unwrap_or(0),
        version: number("format-version").and_then(|n| u8::try_from(n).ok()).unwrap_or(1),
        first_row_id: number("first-row-id"),
        manifests,
    })
}

/// The snapshot of a manifest list.
pub(super) fn of_list(list: &FoundList, schema: i64) -> Json {
    let is_data = |m: &&ManifestFile| m.content == ManifestContent::Data;
    let added = list.manifests.iter().filter(|m| m.added_snapshot_id == Some(list.snapshot)).filter(is_data);
    let rows: i64 = added.filter_map(|m| m.added_rows_count).sum();
    let mut out = json!({
        "snapshot-id": list.snapshot,
        "sequence-number": list.sequence,
        "timestamp-ms": list.time_ms,
        "manifest-list": list.path,
        "schema-id": schema,
        "summary": {"operation": "overwrite"},
    });
    if let Some(members) = out.as_object_mut() {
        if let Some(parent) = list.parent {
            members.insert("parent-snapshot-id".to_owned(), json!(parent));
        }
        if let Some(first) = list.first_row_id {
            members.insert("first-row-id".to_owned(), json!(first));
            members.insert("added-rows".to_owned(), json!(rows));
        }
    }
    out
}

/// The first row id that no manifest uses. Each list also says which one was the next before its snapshot: manifests
/// that are gone used those below.
pub(super) fn next_row_id(lists: &[FoundList]) -> i64 {
    let end = |m: &ManifestFile| {
        let rows = m.added_rows_count.unwrap_or(0).saturating_add(m.existing_rows_count.unwrap_or(0));
        Some(m.first_row_id?.saturating_add(rows))
    };
    let used = lists.iter().flat_map(|list| &list.manifests).filter_map(end);
    used.chain(lists.iter().filter_map(|list| list.first_row_id)).max().unwrap_or(0)
}

/// The schemas and partition specs in the headers of all manifests.
pub(super) fn headers(store: &dyn Store, lists: &[FoundList]) -> Result<(BTreeMap<i64, Json>, BTreeMap<i64, Json>)> {
    let manifests: HashMap<&str, i32> =
        lists.iter().flat_map(|list| &list.manifests).map(|m| (m.path.as_str(), m.spec_id)).collect();
    let manifests: Vec<(&str, i32)> = manifests.into_iter().collect();
    let read = in_parallel(store, manifests.len(), |i| {
        check_cancelled()?;
        let (path, spec_id) = manifests[i];
        Ok(unless_lost(store.get(path))?.and_then(|bytes| header(&bytes, spec_id)))
    })?;
    let (mut schemas, mut specs) = (BTreeMap::new(), BTreeMap::new());
    for (schema, spec_id, spec) in read.into_iter().flatten() {
        let id = schema.get("schema-id").and_then(Json::as_i64).unwrap_or(0);
        schemas.entry(id).or_insert(schema);
        specs.entry(spec_id).or_insert_with(|| json!({"spec-id": spec_id, "fields": spec}));
    }
    Ok((schemas, specs))
}

/// The schema of a manifest's header, the id of its spec, and the fields of that spec.
fn header(bytes: &[u8], spec_id: i32) -> Option<(Json, i64, Json)> {
    let open = OpenFile::parse(bytes).ok()?;
    let head = open.head().ok()?;
    let text = |key: &str| head.metadata_text(key).ok().flatten();
    let mut schema = json_text::parse(text("schema")?.as_bytes()).ok()?;
    if let Some(members) = schema.as_object_mut() {
        members.entry("schema-id").or_insert(json!(0));
    }
    let spec = text("partition-spec").and_then(|text| json_text::parse(text.as_bytes()).ok());
    let id = text("partition-spec-id").and_then(|text| text.trim().parse().ok()).unwrap_or(i64::from(spec_id));
    Some((schema, id, spec.unwrap_or_else(|| json!([]))))
}

/// The highest number of any member with one of these names.
pub(super) fn highest_id(json: &Json, names: &[&str]) -> i64 {
    match json {
        Json::Object(members) => {
            let own = members.iter().filter(|(name, _)| names.contains(&name.as_str())).filter_map(|(_, v)| v.as_i64());
            let below = members.values().map(|value| highest_id(value, names));
            own.chain(below).max().unwrap_or(0)
        }
        Json::Array(items) => items.iter().map(|item| highest_id(item, names)).max().unwrap_or(0),
        _ => 0,
    }
}
pub(super) fn step(object: &str, action: String) -> RepairStep {
    RepairStep { kind: RepairKind::Refs, object: object.to_owned(), action, rows_lost: 0 }
}
