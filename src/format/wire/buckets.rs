//! The parts of tasks and messages that only tables with buckets have, as JSON.
//!
//! Some keys start with `paimon`, after the format that had them first. They stay, since other processes may run an
//! older version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::error::Result;
use crate::format::task::{
    BucketContext, BucketFile, BucketHashes, BucketMessage, DataFile, DeletedPositions, FileSource, NewBucketFile,
    RowStats,
};
use crate::format::wire::members::{members, wrong};
use crate::types::json_members::{JsonMembers, as_int};
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::value::{hex, unhex};

pub(crate) fn context_object(c: &BucketContext) -> Json {
    json!({
        "schemas": c.schemas.iter().map(|(id, schema)| json!([id, schema_to_json(schema)])).collect::<Vec<_>>(),
        "declared": c.declared.iter().map(|(id, types)| json!([id, types.iter().collect::<Vec<_>>()])).collect::<Vec<_>>(),
        "key": c.key,
        "options": c.options,
    })
}

pub(crate) fn context_of(j: JsonMembers<'_>) -> Result<BucketContext> {
    let schema = |pair: &Json| {
        let id = pair.get(0).and_then(Json::as_i64).ok_or_else(|| wrong("schemas"))?;
        Ok((id, Arc::new(schema_from_json(pair.get(1).ok_or_else(|| wrong("schemas"))?)?)))
    };
    let declared = |pair: &Json| {
        let types = pair.get(1).and_then(Json::as_array).ok_or_else(|| wrong("declared"))?;
        let column = |pair: &Json| Some((as_int(pair.get(0)?)?, pair.get(1)?.as_str()?.to_owned()));
        let types = types.iter().map(column).collect::<Option<BTreeMap<_, _>>>().ok_or_else(|| wrong("declared"))?;
        Ok((pair.get(0).and_then(Json::as_i64).ok_or_else(|| wrong("declared"))?, Arc::new(types)))
    };
    let options = j.texts("options")?;
    Ok(BucketContext {
        schemas: j.list("schemas")?.iter().map(schema).collect::<Result<_>>()?,
        declared: j.list("declared")?.iter().map(declared).collect::<Result<_>>()?,
        key: j.ints("key")?,
        options,
    })
}

pub(crate) fn bucket_file_object(f: &BucketFile) -> Json {
    json!({
        "bucket": f.bucket,
        "total-buckets": f.total_buckets,
        "level": f.level,
        "schema-id": f.schema_id,
        "min-key": hex(&f.min_key),
        "max-key": hex(&f.max_key),
        "min-sequence-number": f.min_sequence_number,
        "max-sequence-number": f.max_sequence_number,
        "delete-row-count": f.delete_row_count,
        "write-columns": f.write_columns,
    })
}

pub(crate) fn bucket_file_of(j: JsonMembers<'_>) -> Result<BucketFile> {
    let key = |name| unhex(j.string(name)?).ok_or_else(|| wrong(name));
    let write_columns = match j.required("write-columns")? {
        Json::Null => None,
        _ => Some(j.strings("write-columns")?),
    };
    Ok(BucketFile {
        bucket: j.int("bucket")?,
        total_buckets: j.int("total-buckets")?,
        level: j.int("level")?,
        schema_id: j.long("schema-id")?,
        min_key: key("min-key")?,
        max_key: key("max-key")?,
        min_sequence_number: j.long("min-sequence-number")?,
        max_sequence_number: j.long("max-sequence-number")?,
        delete_row_count: j.any_long("delete-row-count"),
        write_columns,
    })
}

/// The additional records of a commit about a new file.
fn new_file_object(f: &NewBucketFile) -> Json {
    let stats = |s: &RowStats| json!({"min": hex(&s.min), "max": hex(&s.max), "null-counts": s.null_counts});
    json!({
        "key-stats": stats(&f.key_stats),
        "value-stats": stats(&f.value_stats),
        "value-stats-columns": f.value_stats_cols,
        "extra-files": f.extra_files,
        "embedded-index": f.embedded_index.as_deref().map(hex),
        "creation-time-ms": f.creation_time_ms,
        "is-compacted": f.source == FileSource::Compact,
        "is-external": f.external,
    })
}

/// New files. `files` has their other members.
fn new_files_of(objects: &[Json], files: &[DataFile]) -> Result<Vec<NewBucketFile>> {
    if objects.len() != files.len() {
        return Err(wrong("paimon"));
    }
    objects.iter().zip(files).map(|(j, file)| new_file_of(j, file)).collect()
}

fn new_file_of(json: &Json, file: &DataFile) -> Result<NewBucketFile> {
    let j = members(json);
    let bytes = |j: JsonMembers<'_>, name| unhex(j.string(name)?).ok_or_else(|| wrong(name));
    let stats = |name| -> Result<RowStats> {
        let j = members(j.required(name)?);
        let null_counts = j.list("null-counts")?.iter().map(Json::as_i64).collect();
        Ok(RowStats { min: bytes(j, "min")?, max: bytes(j, "max")?, null_counts })
    };
    let is_there = |name| Ok::<_, crate::error::Error>(!j.required(name)?.is_null());
    Ok(NewBucketFile {
        file: file.clone(),
        key_stats: stats("key-stats")?,
        value_stats: stats("value-stats")?,
        value_stats_cols: if is_there("value-stats-columns")? { Some(j.strings("value-stats-columns")?) } else { None },
        extra_files: j.strings("extra-files")?,
        embedded_index: if is_there("embedded-index")? { Some(bytes(j, "embedded-index")?) } else { None },
        creation_time_ms: j.long("creation-time-ms")?,
        source: if j.flag("is-compacted")? { FileSource::Compact } else { FileSource::Append },
        external: j.flag("is-external")?,
    })
}

/// Adds a message's part to its JSON. `files_of` encodes data files.
pub(crate) fn put_buckets(
    out: &mut Json,
    message: &BucketMessage,
    files_of: impl Fn(&[DataFile]) -> Result<Vec<Json>>,
) -> Result<()> {
    if !message.added.is_empty() {
        out["paimon"] = message.added.iter().map(new_file_object).collect();
    }
    if !message.changelog.is_empty() {
        let files: Vec<DataFile> = message.changelog.iter().map(|f| f.file.clone()).collect();
        out["paimon-changelog-files"] = files_of(&files)?.into();
        out["paimon-changelog"] = message.changelog.iter().map(new_file_object).collect();
    }
    if !message.hashes.is_empty() {
        out["paimon-hashes"] = message.hashes.iter().map(hashes_object).collect();
    }
    if message.replaces {
        out["paimon-replaces"] = json!(true);
    }
    if !message.deleted.is_empty() {
        let files: Vec<DataFile> = message.deleted.iter().map(|rows| rows.file.clone()).collect();
        out["paimon-deleted-files"] = files_of(&files)?.into();
        out["paimon-deleted"] = message.deleted.iter().map(|rows| hex(&rows.positions)).collect();
    }
    Ok(())
}

/// Reads the members that [`put_buckets`] added. `added` are the message's files, and `files_of` decodes those under
/// a key.
pub(crate) fn buckets_of(
    j: JsonMembers<'_>,
    added: &[DataFile],
    files_of: impl Fn(JsonMembers<'_>, &str) -> Result<Vec<DataFile>>,
) -> Result<BucketMessage> {
    let replaces = match j.get("paimon-replaces") {
        None => false,
        Some(replaces) => replaces.as_bool().ok_or_else(|| wrong("paimon-replaces"))?,
    };
    let mut message = BucketMessage { replaces, ..BucketMessage::default() };
    if j.get("paimon").is_some() {
        message.added = new_files_of(j.list("paimon")?, added)?;
    }
    if j.get("paimon-changelog").is_some() {
        message.changelog = new_files_of(j.list("paimon-changelog")?, &files_of(j, "paimon-changelog-files")?)?;
    }
    if j.get("paimon-hashes").is_some() {
        message.hashes = j.list("paimon-hashes")?.iter().map(hashes_of).collect::<Result<_>>()?;
    }
    if j.get("paimon-deleted").is_some() {
        let (files, positions) = (files_of(j, "paimon-deleted-files")?, j.strings("paimon-deleted")?);
        if files.len() != positions.len() {
            return Err(wrong("paimon-deleted"));
        }
        let rows = files.into_iter().zip(positions).map(|(file, positions)| {
            let positions = unhex(&positions).ok_or_else(|| wrong("paimon-deleted"))?;
            Ok(DeletedPositions { file, positions })
        });
        message.deleted = rows.collect::<Result<_>>()?;
    }
    Ok(message)
}

/// The keys that a writer put into a bucket. Each hash has eight digits.
fn hashes_object(h: &BucketHashes) -> Json {
    let bytes: Vec<u8> = h.hashes.iter().flat_map(|hash| hash.to_be_bytes()).collect();
    json!({"partition": hex(&h.partition), "bucket": h.bucket, "hashes": hex(&bytes)})
}

fn hashes_of(json: &Json) -> Result<BucketHashes> {
    let j = members(json);
    let bytes = |name| unhex(j.string(name)?).ok_or_else(|| wrong(name));
    let hashes = bytes("hashes")?;
    let (hashes, []) = hashes.as_chunks::<4>() else { return Err(wrong("hashes")) };
    let hashes = hashes.iter().map(|hash| i32::from_be_bytes(*hash)).collect();
    Ok(BucketHashes { partition: bytes("partition")?, bucket: j.int("bucket")?, hashes })
}
