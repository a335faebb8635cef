//! A new metadata file for a table that can't be opened. The damaged file stays as it is.
//!
//! If the metadata file is JSON, its references and logs are mended. If it is lost, the table is registered again from
//! its manifest lists and manifests: they know the schemas, the partition specs and the newest snapshot. An older
//! metadata file adds what they do not know.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::mend;
use super::older::{older_version, with_newer};
use crate::codec::avro::OpenFile;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::diagnosis::repair::{RepairKind, RepairStep};
use crate::iceberg::catalog::metadata_files::{find_metadata, highest_named};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile, decode_manifest_list};
use crate::iceberg::spec::metadata::{MAIN_BRANCH, METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::{metadata_from_json, read_json};
use crate::parallel::check_cancelled;
use crate::store::location::join;
use crate::store::{FileInfo, Store, in_parallel};
use crate::types::json_text;
use crate::types::temporal::now_ms;

/// Writes a new metadata file for the table in the folder `root`. Returns its path and what it changes.
///
/// # Errors
/// `InvalidInput` if the table can be opened; `NotFound` if no manifest list remains; `CorruptTable` if what remains is
/// no table; `AlreadyExists` if another writer was first; errors of the store.
pub fn restore(store: &Arc<dyn Store>, root: &str, dry_run: bool) -> Result<(String, Vec<RepairStep>)> {
    let store = store.as_ref();
    let found = unless_lost(find_metadata(store, root))?.map(|found| found.metadata_location);
    let is_found = found.is_some();
    let at = found.or(highest_named(store, root)?);
    let document = match &at {
        Some(at) => unless_lost(store.get(at))?.and_then(|bytes| read_json(&bytes).ok()),
        None => None,
    };
    let (metadata, steps) = match document {
        Some(json) => match metadata_from_json(json.clone()) {
            Ok(metadata) if !is_found => {
                let action = "goes back to the last version that is left".to_owned();
                let object = at.clone().unwrap_or_default();
                (metadata, vec![RepairStep { kind: RepairKind::Refs, object, action, rows_lost: 0 }])
            }
            Ok(_) => {
                return Err(Error::invalid("the table's metadata can be read, so there is nothing to restore")
                    .with("path", at.unwrap_or_default())
                    .hint("Open the table and use repair()"));
            }
            Err(e) => {
                let (mended, steps) = mend::references(json);
                let metadata = metadata_from_json(mended).map_err(|_| e)?;
                (metadata, steps)
            }
        },
        None => from_lists(store, root)?,
    };
    let path = next_path(root, at.as_deref());
    if !dry_run {
        let metadata = TableMetadata { last_updated_ms: now_ms().max(metadata.last_updated_ms), ..metadata };
        store.put_if_absent(&path, &encode_metadata(&metadata)).with("path", &path)?;
        if let Some(version) = version_of(&path) {
            let hint = join(&join(root, METADATA_FOLDER), "version-hint.text");
            // A hint is only a hint.
            let _ = store.put(&hint, version.to_string().as_bytes());
        }
    }
    Ok((path, steps))
}

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

/// The path of the next metadata file, in the line of names of the last one.
fn next_path(root: &str, last: Option<&str>) -> String {
    let folder = join(root, METADATA_FOLDER);
    let name = last.and_then(|last| last.rsplit('/').next()).unwrap_or_default();
    let digits = name.split_once('-').map(|(digits, _)| digits).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    match (digits.and_then(|d| d.parse::<u64>().ok()), version_of(name)) {
        (Some(number), _) => join(&folder, &format!("{:05}-{}.metadata.json", number + 1, uuid::Uuid::new_v4())),
        (None, version) => join(&folder, &format!("v{}.metadata.json", version.unwrap_or(0) + 1)),
    }
}

/// `N` of a path to `v<N>.metadata.json`.
fn version_of(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    name.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// A manifest list that was found in the folder.
pub(super) struct FoundList {
    path: String,
    pub(super) time_ms: i64,
    pub(super) snapshot: i64,
    pub(super) parent: Option<i64>,
    pub(super) sequence: i64,
    version: u8,
    first_row_id: Option<i64>,
    manifests: Vec<ManifestFile>,
}

/// Reads a file as a manifest list; `None` for other files.
fn found_list(bytes: &[u8], file: &FileInfo) -> Option<FoundList> {
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

/// The metadata of the table whose manifest lists are in the folder.
fn from_lists(store: &dyn Store, root: &str) -> Result<(TableMetadata, Vec<RepairStep>)> {
    let folder = join(root, METADATA_FOLDER);
    let files: Vec<FileInfo> = store.list(&folder)?.into_iter().filter(|f| f.path.ends_with(".avro")).collect();
    let lists = in_parallel(store, files.len(), |i| {
        check_cancelled()?;
        Ok(unless_lost(store.get(&files[i].path))?.and_then(|bytes| found_list(&bytes, &files[i])))
    })?;
    let mut lists: Vec<FoundList> = lists.into_iter().flatten().collect();
    lists.sort_by_key(|list| (list.sequence, list.time_ms));
    let older = older_version(store, root, &lists)?;
    if let (Some(older), true) = (&older, lists.is_empty()) {
        return with_newer(older.clone(), &lists, (&Documents::new(), &Documents::new()));
    }
    let Some(newest) = lists.last() else {
        return Err(Error::not_found("no manifest list remains, so the table can't be registered again")
            .with("path", folder)
            .hint("Create a table with the schema of its data files, and add them by add_files()"));
    };
    let (schemas, specs) = headers(store, &lists)?;
    if let Some(older) = older {
        return with_newer(older, &lists, (&schemas, &specs));
    }
    let (Some(schema), Some(spec)) = (schemas.keys().next_back(), specs.keys().next_back()) else {
        return Err(Error::corrupt("the manifests of the table name no schema").with("path", &newest.path));
    };
    let ids = |json: &Json| highest_id(json, &["id", "element-id", "key-id", "value-id"]);
    let last_column = schemas.values().map(ids).max().unwrap_or(0);
    let last_partition = specs.values().map(|spec| highest_id(spec, &["field-id"])).max().unwrap_or(999).max(999);
    let snapshots: Vec<Json> = lists.iter().map(|list| of_list(list, *schema)).collect();
    let mut metadata = json!({
        "format-version": newest.version.max(1),
        "table-uuid": uuid::Uuid::new_v4().to_string(),
        "location": root,
        "last-sequence-number": newest.sequence,
        "last-updated-ms": now_ms(),
        "last-column-id": last_column,
        "schemas": schemas.values().collect::<Vec<_>>(),
        "current-schema-id": schema,
        "partition-specs": specs.values().collect::<Vec<_>>(),
        "default-spec-id": spec,
        "last-partition-id": last_partition,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {},
        "snapshots": snapshots,
        "current-snapshot-id": newest.snapshot,
        "snapshot-log": lists.iter().map(|l| json!({"snapshot-id": l.snapshot, "timestamp-ms": l.time_ms})).collect::<Vec<_>>(),
        "refs": {MAIN_BRANCH: {"snapshot-id": newest.snapshot, "type": "branch"}},
    });
    if newest.version >= 3
        && let Some(members) = metadata.as_object_mut()
    {
        members.insert("next-row-id".to_owned(), json!(next_row_id(&lists)));
    }
    let mut steps = vec![step(root, format!("registers the table again, with {} snapshots", lists.len()))];
    steps.push(step(MAIN_BRANCH, format!("sets it to the newest snapshot {}", newest.snapshot)));
    let lost = "properties, branches, tags, sort orders and statistics are lost".to_owned();
    steps.push(step(root, lost));
    Ok((metadata_from_json(metadata)?, steps))
}

pub(super) fn step(object: &str, action: String) -> RepairStep {
    RepairStep { kind: RepairKind::Refs, object: object.to_owned(), action, rows_lost: 0 }
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

pub(super) type Documents = BTreeMap<i64, Json>;

/// The schemas and partition specs in the headers of all manifests.
fn headers(store: &dyn Store, lists: &[FoundList]) -> Result<(Documents, Documents)> {
    let manifests: HashMap<&str, i32> =
        lists.iter().flat_map(|list| &list.manifests).map(|m| (m.path.as_str(), m.spec_id)).collect();
    let manifests: Vec<(&str, i32)> = manifests.into_iter().collect();
    let read = in_parallel(store, manifests.len(), |i| {
        check_cancelled()?;
        let (path, spec_id) = manifests[i];
        Ok(unless_lost(store.get(path))?.and_then(|bytes| header(&bytes, spec_id)))
    })?;
    let (mut schemas, mut specs) = (Documents::new(), Documents::new());
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
fn highest_id(json: &Json, names: &[&str]) -> i64 {
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
