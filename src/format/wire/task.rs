//! Tasks, splits and commit messages as JSON: the specification's `content-file` and `file-scan-task`, and a complete
//! form of our own that other processes read back.
//!
//! Source: Iceberg specification, Appendix C, "Content File" and "File Scan Task Serialization"; member order and
//! spelling as Java Iceberg 1.11 and later write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::buckets;
use crate::error::{Error, Result};
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::{BoundPredicate, bind};
use crate::format::task::{
    ChangeOperation, ColumnMetrics, CommitChanges, CommitMessage, DataFile, DeleteRef, FieldMap, FileContent,
    FileFormat, FileMetrics, MergeSection, PartRows, Partition, PartitionValue, ReadContext, RowDelta, ScanTask, Split,
    TaskChange, WrittenAt,
};
use crate::format::wire::encode::{FileScanTask, SplitObject, TaskForm, TaskObject, file_object, spec_objects, text};
use crate::format::wire::members::{members, parse, wrong};
use crate::parallel::{check_cancelled, in_parallel};
use crate::store::Location;
use crate::types::json::value_from_json;
use crate::types::json_members::{JsonMembers, as_int};
use crate::types::metadata_columns::{CHANGE_COLUMNS, LINEAGE_COLUMNS, metadata_column};
use crate::types::schema_json::{parse_primitive, schema_from_json, schema_to_json};
use crate::types::value::unhex;
use crate::types::{PrimitiveType, Schema, Transform, Value};

/// The specification's `file-scan-task`, with the schema of the scan.
///
/// # Errors
/// `Unsupported` for a task of a changelog, which has no such form; `CorruptTable` if column metrics that were kept
/// encoded are broken.
pub fn task_to_json(task: &ScanTask, schema: &Schema) -> Result<String> {
    if task.change.is_some() {
        return Err(Error::unsupported("a task of a changelog has no JSON form in the Iceberg specification")
            .hint("Pickle the task or its split instead"));
    }
    text(&FileScanTask { schema: schema_to_json(schema), task: TaskObject::new(task, TaskForm::Specification)? })
}

/// Reads the JSON that [`task_to_json`] or Java wrote. Sequence numbers are not part of that form.
///
/// # Errors
/// `InvalidInput` if the text is something else.
pub fn task_from_json(text: &str) -> Result<(ScanTask, Schema)> {
    let json = parse(text)?;
    let j = members(&json);
    let schema = schema_from_json(j.required("schema")?)?;
    let spec = SpecShape::parse(j.required("spec")?, Some(&schema))?;
    let specs = BTreeMap::from([(spec.id, spec)]);
    Ok((task_of(&json, &specs, &schema)?, schema))
}

/// A split with its read context, complete.
///
/// # Errors
/// As [`task_to_json`].
pub fn split_to_json(split: &Split) -> Result<String> {
    text(&SplitObject::new(split, Some(context_to_json(&split.context)))?)
}

/// The tasks of a split alone, for [`tasks_from_json`]: the receiver may know their shared context already.
///
/// # Errors
/// As [`task_to_json`].
pub fn tasks_to_json(split: &Split) -> Result<String> {
    text(&SplitObject::new(split, None)?)
}

/// As [`tasks_to_json`], for very many splits of one scan, on all cores.
///
/// # Errors
/// `Internal` if they belong to several scans; a cancellation.
pub fn all_tasks_to_json(splits: &[Arc<Split>]) -> Result<Vec<String>> {
    check_scan(splits)?;
    in_parallel(splits.len(), |i| {
        check_cancelled()?;
        splits.get(i).map_or_else(|| Err(Error::internal("a split is missing")), |split| tasks_to_json(split))
    })
}

pub(crate) fn check_scan(splits: &[Arc<Split>]) -> Result<()> {
    let of_one_scan = |a: &Split, b: &Split| Arc::ptr_eq(&a.context, &b.context) || a.context == b.context;
    match splits.windows(2).all(|pair| of_one_scan(&pair[0], &pair[1])) {
        true => Ok(()),
        false => Err(Error::internal("the splits belong to several scans")),
    }
}

/// Reads the JSON that [`tasks_to_json`] wrote.
///
/// # Errors
/// `InvalidInput` if the text is something else.
pub fn tasks_from_json(text: &str, context: &Arc<ReadContext>) -> Result<Split> {
    split_of(&parse(text)?, BTreeMap::new(), context.clone())
}

/// The shared context of tasks, complete.
pub fn context_to_json(c: &ReadContext) -> Json {
    let relocation = c.location.relocation.as_ref().map(|r| json!({"from": r.from, "to": r.to}));
    json!({
        "schema": schema_to_json(&c.schema),
        "projection": schema_to_json(&c.projection),
        "change-filter": predicate_to_json(&c.change_filter),
        "dropped": c.dropped.iter().map(schema_to_json).collect::<Vec<_>>(),
        "snapshot-id": c.snapshot_id,
        "relocation": relocation,
        "storage-options": c.storage_options,
        "name-mapping": c.name_mapping,
        "keep-deleted": c.keep_deleted,
        "batch-rows": c.batch_rows,
        "paimon": c.buckets.as_deref().map(buckets::context_object),
    })
}

/// Reads the JSON that [`split_to_json`] wrote.
///
/// # Errors
/// `InvalidInput` if the text is something else.
pub fn split_from_json(text: &str) -> Result<Split> {
    let json = parse(text)?;
    let context = context_from_json(members(&json).required("context")?)?;
    split_of(&json, BTreeMap::new(), Arc::new(context))
}

/// A split of a scan. `specs` are partition specs that it shares with others; they come before its own.
pub(crate) fn split_of(json: &Json, mut specs: BTreeMap<i32, SpecShape>, context: Arc<ReadContext>) -> Result<Split> {
    let j = members(json);
    specs.extend(SpecShape::parse_all(j.required("specs")?)?);
    let commits = match j.get("commits").and_then(Json::as_array) {
        Some(all) => all.iter().map(|c| commit_of(c, &specs, &context.schema)).collect::<Result<_>>()?,
        None => BTreeMap::new(),
    };
    let task = |t| {
        let mut task = task_of(t, &specs, &context.schema)?;
        if let Some(change) = &mut task.change {
            change.commit = commits.get(&change.commit_snapshot_id).cloned();
        }
        Ok(task)
    };
    let tasks = j.list("tasks")?.iter().map(task).collect::<Result<_>>()?;
    Ok(Split { context, tasks })
}

/// Reads the JSON that [`context_to_json`] wrote.
///
/// # Errors
/// `InvalidInput` if the text is something else.
pub fn context_from_json(json: &Json) -> Result<ReadContext> {
    let c = members(json);
    let storage_options = c.texts("storage-options")?;
    let location = match c.given("relocation").map(members) {
        Some(r) => Location::moved(r.string("from")?, r.string("to")?),
        None => Location::recorded(),
    };
    let change_filter = match c.get("change-filter") {
        Some(filter) => bind(&predicate_from_json(filter)?, &metadata_columns(), true)?,
        None => BoundPredicate::True,
    };
    Ok(ReadContext {
        schema: Arc::new(schema_from_json(c.required("schema")?)?),
        change_filter: Arc::new(change_filter),
        projection: Arc::new(schema_from_json(c.required("projection")?)?),
        dropped: c.list("dropped")?.iter().map(schema_from_json).collect::<Result<_>>()?,
        snapshot_id: c.any_long("snapshot-id"),
        location,
        storage_options,
        name_mapping: c.any_string("name-mapping").map(str::to_owned),
        keep_deleted: c.any_flag("keep-deleted").unwrap_or(false),
        batch_rows: c.required("batch-rows")?.as_u64().ok_or_else(|| wrong("batch-rows"))? as usize,
        buckets: c.given("paimon").map(members).map(buckets::context_of).transpose()?.map(Arc::new),
    })
}

/// A commit message, complete.
///
/// # Errors
/// As [`task_to_json`].
pub fn message_to_json(message: &CommitMessage) -> Result<String> {
    let removed = message.delta.iter().flat_map(|d| &d.removed);
    let deleted = message.buckets.deleted.iter().map(|rows| &rows.file);
    let (specs, form) = spec_objects(message.files.iter().chain(removed).chain(deleted).map(|f| &f.partition));
    let files_of = |files: &[DataFile]| files.iter().map(|f| file_object(f, form)).collect::<Result<Vec<_>>>();
    let mut out = json!({
        "table-uuid": message.table_uuid,
        "specs": specs,
        "files": files_of(&message.files)?,
    });
    if let Some(delta) = &message.delta {
        out["delta"] = json!({
            "since-snapshot-id": delta.since,
            "removed-files": files_of(&delta.removed)?,
            "referenced-data-files": delta.referenced,
            "spec-ids": delta.specs,
            "part-rows": delta.part.map(|rows| [rows.updated, rows.deleted, rows.inserted]),
        });
    }
    if let Some(version) = message.rewrites {
        out["rewrites-format-version"] = json!(version);
    }
    if let Some(at) = &message.written_at {
        out["written-at"] = json!({"sequence-number": at.sequence_number, "timestamp-ms": at.time_ms});
    }
    buckets::put_buckets(&mut out, &message.buckets, files_of)?;
    Ok(out.to_string())
}

/// Reads the JSON that [`message_to_json`] wrote.
///
/// # Errors
/// `InvalidInput` if the text is something else.
pub fn message_from_json(text: &str) -> Result<CommitMessage> {
    let json = parse(text)?;
    let j = members(&json);
    let specs = SpecShape::parse_all(j.required("specs")?)?;
    let files =
        |j: JsonMembers<'_>, key: &str| j.list(key)?.iter().map(|f| file_of(f, &specs)).collect::<Result<Vec<_>>>();
    let delta = j.given("delta").map(members).map(|d| delta_of(d, files(d, "removed-files")?)).transpose()?;
    let rewrites = j
        .given("rewrites-format-version")
        .map(|v| v.as_u64().and_then(|v| u8::try_from(v).ok()).ok_or_else(|| wrong("rewrites-format-version")));
    let written_at = j.given("written-at").map(members).map(|at| {
        let number = |key: &str| at.any_long(key).ok_or_else(|| wrong("written-at"));
        Ok(WrittenAt { sequence_number: number("sequence-number")?, time_ms: number("timestamp-ms")? })
    });
    let message = CommitMessage::new(j.string("table-uuid")?, files(j, "files")?, written_at.transpose()?);
    let buckets = buckets::buckets_of(j, &message.files, files)?;
    let rewrites = rewrites.transpose()?;
    Ok(CommitMessage { delta, rewrites, buckets, ..message })
}

fn delta_of(j: JsonMembers<'_>, removed: Vec<DataFile>) -> Result<RowDelta> {
    let referenced = j.strings("referenced-data-files")?;
    let specs = j.given("spec-ids").map(|_| j.ints("spec-ids")).transpose()?;
    Ok(RowDelta {
        since: j.any_long("since-snapshot-id"),
        removed,
        referenced,
        specs,
        part: j.given("part-rows").map(part_of).transpose()?,
    })
}

fn part_of(j: &Json) -> Result<PartRows> {
    let counts = j.as_array().and_then(|all| all.iter().map(Json::as_u64).collect::<Option<Vec<_>>>());
    let [updated, deleted, inserted] = counts.as_deref().unwrap_or_default() else { return Err(wrong("part-rows")) };
    Ok(PartRows { updated: *updated, deleted: *deleted, inserted: *inserted })
}

/// A spec as in the JSON: partition fields without values.
pub(crate) struct SpecShape {
    pub(crate) id: i32,
    pub(crate) fields: Vec<PartitionValue>,
}

impl SpecShape {
    fn parse(json: &Json, schema: Option<&Schema>) -> Result<SpecShape> {
        let field = |f: &Json| -> Result<PartitionValue> {
            let f = members(f);
            let transform = Transform::parse(f.string("transform")?);
            let source_id = f.int("source-id")?;
            let ty = match f.any_string("result-type") {
                Some(text) => parse_primitive(text)?,
                None => {
                    let source = schema.and_then(|s| s.field(source_id)).and_then(|f| f.ty.as_primitive());
                    transform.result_type(source.unwrap_or(&PrimitiveType::String))
                }
            };
            let name = f.string("name")?.to_owned();
            Ok(PartitionValue { name, field_id: f.int("field-id")?, source_id, transform, ty, value: None })
        };
        let j = members(json);
        Ok(SpecShape { id: j.int("spec-id")?, fields: j.list("fields")?.iter().map(field).collect::<Result<_>>()? })
    }

    pub(crate) fn parse_list(specs: &Json) -> Result<Vec<SpecShape>> {
        let specs = specs.as_array().ok_or_else(|| wrong("specs"))?;
        specs.iter().map(|s| SpecShape::parse(s, None)).collect()
    }

    pub(crate) fn parse_all(specs: &Json) -> Result<BTreeMap<i32, SpecShape>> {
        Ok(SpecShape::parse_list(specs)?.into_iter().map(|s| (s.id, s)).collect())
    }
}

pub(crate) fn task_of(json: &Json, specs: &BTreeMap<i32, SpecShape>, schema: &Schema) -> Result<ScanTask> {
    let j = members(json);
    let residual = match j.get("residual-filter") {
        Some(r) => bind(&predicate_from_json(r)?, schema, true)?,
        None => BoundPredicate::True,
    };
    let change = j.given("change").map(members).map(|c| change_of(c, specs)).transpose()?;
    let merge = j.get("merge").map(members).map(|m| section_of(m, specs, schema)).transpose()?;
    Ok(ScanTask {
        data_file: Arc::new(file_of(j.required("data-file")?, specs)?),
        start: j.long("start")?,
        length: j.long("length")?,
        deletes: deletes_of(j, "delete-files", specs)?.unwrap_or_default(),
        residual: Arc::new(residual),
        change: change.map(Box::new),
        merge: merge.map(Arc::new),
    })
}

/// The columns that a filter on changes may use.
fn section_of(j: JsonMembers<'_>, specs: &BTreeMap<i32, SpecShape>, schema: &Schema) -> Result<MergeSection> {
    let run = |run: &Json| {
        let tasks = run.as_array().ok_or_else(|| wrong("merge"))?;
        tasks.iter().map(|t| task_of(t, specs, schema)).collect::<Result<Vec<_>>>()
    };
    let runs = |name| j.list(name)?.iter().map(run).collect::<Result<Vec<_>>>();
    let before = if j.get("before").is_some() { Some(runs("before")?) } else { None };
    Ok(MergeSection { runs: runs("runs")?, before })
}

fn metadata_columns() -> Schema {
    let ids = CHANGE_COLUMNS.into_iter().chain(LINEAGE_COLUMNS);
    Schema::new(0, ids.filter_map(metadata_column).collect::<Vec<_>>(), Vec::new())
}

fn deletes_of(j: JsonMembers<'_>, key: &str, specs: &BTreeMap<i32, SpecShape>) -> Result<Option<Vec<DeleteRef>>> {
    let Some(Json::Array(files)) = j.get(key) else { return Ok(None) };
    let delete = |f| Ok(DeleteRef { file: Arc::new(file_of(f, specs)?) });
    files.iter().map(delete).collect::<Result<_>>().map(Some)
}

fn change_of(j: JsonMembers<'_>, specs: &BTreeMap<i32, SpecShape>) -> Result<TaskChange> {
    Ok(TaskChange {
        operation: ChangeOperation::parse(j.string("operation")?).ok_or_else(|| wrong("operation"))?,
        ordinal: j.int("ordinal")?,
        commit_snapshot_id: j.long("commit-snapshot-id")?,
        removed_by: deletes_of(j, "removed-by", specs)?,
        commit: None,
    })
}

fn commit_of(json: &Json, specs: &BTreeMap<i32, SpecShape>, schema: &Schema) -> Result<(i64, Arc<CommitChanges>)> {
    let j = members(json);
    let changes = CommitChanges {
        sequence_number: j.long("sequence-number")?,
        first_row_id: j.long("first-row-id")?,
        tasks: j.list("tasks")?.iter().map(|t| task_of(t, specs, schema)).collect::<Result<_>>()?,
    };
    Ok((j.long("commit-snapshot-id")?, Arc::new(changes)))
}

fn partition_of(j: JsonMembers<'_>, specs: &BTreeMap<i32, SpecShape>) -> Result<Arc<Partition>> {
    let spec_id = j.int("spec-id")?;
    let shape = specs.get(&spec_id).ok_or_else(|| wrong("spec-id"))?;
    let values = match j.get("partition") {
        Some(Json::Array(values)) if values.len() == shape.fields.len() => values.iter().collect(),
        // Java before 1.11: an object by partition field id.
        Some(Json::Object(by_id)) => {
            shape.fields.iter().map(|f| by_id.get(&f.field_id.to_string()).unwrap_or(&Json::Null)).collect()
        }
        None if shape.fields.is_empty() => Vec::new(),
        _ => return Err(wrong("partition")),
    };
    let types = j.get("partition-types").map(|types| types_of(types, shape)).transpose()?;
    let filled = shape.fields.iter().zip(values).enumerate().map(|(i, (field, v))| -> Result<PartitionValue> {
        let ty = types.as_ref().and_then(|types| types.get(i)).unwrap_or(&field.ty);
        let value: Option<Value> = value_from_json(v, ty)?;
        Ok(PartitionValue { value, ty: ty.clone(), ..field.clone() })
    });
    Ok(Arc::new(Partition { spec_id, values: filled.collect::<Result<_>>()? }))
}

/// The types of a file's own partition values.
fn types_of(j: &Json, shape: &SpecShape) -> Result<Vec<PrimitiveType>> {
    let all = j.as_array().filter(|all| all.len() == shape.fields.len()).ok_or_else(|| wrong("partition-types"))?;
    all.iter().map(|ty| parse_primitive(ty.as_str().ok_or_else(|| wrong("partition-types"))?)).collect()
}

fn file_of(json: &Json, specs: &BTreeMap<i32, SpecShape>) -> Result<DataFile> {
    let j = members(json);
    let content = match j.string("content")?.to_ascii_lowercase().replace('_', "-").as_str() {
        "data" => FileContent::Data,
        "position-deletes" => FileContent::PositionDeletes,
        "equality-deletes" => FileContent::EqualityDeletes,
        _ => return Err(wrong("content")),
    };
    let long = |key: &str| j.any_long(key);
    let longs = |key: &str| -> Result<Option<Vec<i64>>> {
        let Some(list) = j.given(key) else { return Ok(None) };
        let all = list.as_array().and_then(|a| a.iter().map(Json::as_i64).collect::<Option<Vec<_>>>());
        all.map(Some).ok_or_else(|| wrong(key))
    };
    Ok(DataFile {
        content,
        path: j.string("file-path")?.to_owned(),
        format: FileFormat::parse(j.string("file-format")?).ok_or_else(|| wrong("file-format"))?,
        partition: partition_of(j, specs)?,
        record_count: j.long("record-count")?,
        size_bytes: j.long("file-size-in-bytes")?,
        sequence_number: long("sequence-number"),
        file_sequence_number: long("file-sequence-number"),
        snapshot_id: long("snapshot-id"),
        metrics: metrics_of(j)?,
        key_metadata: j.any_string("key-metadata").and_then(unhex),
        split_offsets: longs("split-offsets")?,
        equality_ids: j.given("equality-ids").map(|_| j.ints("equality-ids")).transpose()?,
        sort_order_id: j.any_int("sort-order-id"),
        first_row_id: long("first-row-id"),
        referenced_data_file: j.any_string("referenced-data-file").map(str::to_owned),
        content_offset: long("content-offset"),
        content_size_bytes: long("content-size-in-bytes"),
        bucket_file: j.get("leveled").map(members).map(buckets::bucket_file_of).transpose()?.map(Box::new),
    })
}

fn metrics_of(j: JsonMembers<'_>) -> Result<Option<FileMetrics>> {
    fn map_of<T>(j: JsonMembers<'_>, key: &str, value: impl Fn(&Json) -> Option<T>) -> Result<Option<FieldMap<T>>> {
        let Some(map) = j.given(key).map(members) else { return Ok(None) };
        let (keys, values) = (map.list("keys")?, map.list("values")?);
        let pairs = keys.iter().zip(values).map(|(k, v)| Some((as_int(k)?, value(v)?)));
        pairs.collect::<Option<_>>().map(Some).ok_or_else(|| wrong(key))
    }
    let bound = |v: &Json| v.as_str().and_then(unhex);
    let metrics = ColumnMetrics {
        column_sizes: map_of(j, "column-sizes", Json::as_i64)?,
        value_counts: map_of(j, "value-counts", Json::as_i64)?,
        null_value_counts: map_of(j, "null-value-counts", Json::as_i64)?,
        nan_value_counts: map_of(j, "nan-value-counts", Json::as_i64)?,
        lower_bounds: map_of(j, "lower-bounds", bound)?,
        upper_bounds: map_of(j, "upper-bounds", bound)?,
    };
    Ok((metrics != ColumnMetrics::default()).then(|| metrics.into()))
}

#[cfg(test)]
#[path = "task_tests.rs"]
pub(crate) mod tests;
