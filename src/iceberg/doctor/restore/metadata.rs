//! A new metadata file for a table that can't be opened. The damaged file stays as it is.
//!
//! If the metadata file is JSON, its references and logs are mended. If it is lost, the table is registered again from
//! its manifest lists and manifests: they know the schemas, the partition specs and the newest snapshot. An older
//! metadata file adds what they do not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::lists::{FoundList, found_list, headers, highest_id, next_row_id, of_list, step, unless_lost};
use super::older::{older_version, with_newer};
use crate::error::{Error, Result, ResultExt};
use crate::format::diagnosis::repair::RepairStep;
use crate::iceberg::catalog::metadata_files::{find_metadata, highest_named};
use crate::iceberg::doctor::mend;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::{metadata_from_json, read_json};
use crate::parallel::check_cancelled;
use crate::store::location::join;
use crate::store::{FileInfo, Store, in_parallel};
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
                (metadata, vec![step(at.as_deref().unwrap_or_default(), action)])
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
    let path = next_path(root, at.as_deref())?;
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

/// The path of the next metadata file, in the line of names of the last one.
///
/// # Errors
/// `Unsupported` if no larger number is left.
fn next_path(root: &str, last: Option<&str>) -> Result<String> {
    let folder = join(root, METADATA_FOLDER);
    let name = last.and_then(|last| last.rsplit('/').next()).unwrap_or_default();
    let digits = name.split_once('-').map(|(digits, _)| digits).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    let number = digits.and_then(|d| d.parse::<u64>().ok());
    let next = number.or(version_of(name)).unwrap_or(0).checked_add(1).ok_or_else(|| {
        Error::unsupported("no version number is left after that of the last metadata file")
            .with("path", last.unwrap_or_default())
            .hint("Move this file out of the folder")
    })?;
    let name = match number {
        Some(_) => format!("{next:05}-{}.metadata.json", uuid::Uuid::new_v4()),
        None => format!("v{next}.metadata.json"),
    };
    Ok(join(&folder, &name))
}

/// `N` of a path to `v<N>.metadata.json`.
fn version_of(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    name.strip_prefix('v')?.split('.').next()?.parse().ok()
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
        return with_newer(older.clone(), &lists, (&BTreeMap::new(), &BTreeMap::new()));
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
