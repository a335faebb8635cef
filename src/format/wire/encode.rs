//! Files, tasks and splits as JSON texts, without a JSON value for each: a scan may have hundreds of thousands.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

use super::buckets;
use crate::error::{Error, Result, ResultExt};
use crate::expr::json::predicate_to_json;
use crate::format::task::{
    ColumnMetrics, CommitChanges, DataFile, DeleteRef, FieldMap, FileContent, MergeSection, Partition, PartitionValue,
    ScanTask, Split, TaskChange,
};
use crate::types::FieldId;
use crate::types::json::value_to_json;
use crate::types::value::hex_upper;

/// Whether to write only the specification's members, or all members that another process needs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TaskForm {
    Specification,
    Complete,
    /// Complete, and each file has the types of its partition values, which may differ between files of one spec.
    Typed,
}

pub(crate) fn text(object: &impl Serialize) -> Result<String> {
    serde_json::to_string(object).map_err(no_text)
}

/// Adds the text of `object` to `out`.
pub(crate) fn add_text(object: &impl Serialize, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, object).map_err(no_text)
}

fn no_text(e: serde_json::Error) -> Error {
    Error::internal("a task can't be written as text").because(e)
}

fn value(object: &impl Serialize) -> Result<Json> {
    serde_json::to_value(object).map_err(|e| Error::internal("a task can't be written as JSON").because(e))
}

/// An entry that is omitted if it has no value.
fn optional<M: SerializeMap>(out: &mut M, key: &str, value: Option<impl Serialize>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| out.serialize_entry(key, &value))
}

/// A split, with its context if another process will read it alone.
pub(crate) struct SplitObject<'a> {
    specs: Vec<SpecObject<'a>>,
    commits: Vec<Json>,
    tasks: Vec<TaskObject<'a>>,
    context: Option<Json>,
}

impl<'a> SplitObject<'a> {
    pub(crate) fn new(split: &'a Split, context: Option<Json>) -> Result<SplitObject<'a>> {
        let commits = commits_of(&split.tasks);
        let all = commits.values().flat_map(|c| &c.tasks).chain(&split.tasks);
        let (specs, form) = spec_objects(all.flat_map(files_of).map(|f| &f.partition));
        Ok(SplitObject {
            specs,
            commits: commits.iter().map(|(id, c)| commit_object(*id, c, form)).collect::<Result<_>>()?,
            tasks: split.tasks.iter().map(|t| TaskObject::new(t, form)).collect::<Result<_>>()?,
            context,
        })
    }

    /// Omits the partition specs that are in `shared`, and adds specs with other ids to it.
    pub(crate) fn share_specs(&mut self, shared: &mut BTreeMap<i32, SpecObject<'a>>) {
        self.specs.retain(|spec| !same_fields(shared.entry(spec.0.spec_id).or_insert(*spec).0, spec.0));
    }
}

impl Serialize for SplitObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("specs", &self.specs)?;
        out.serialize_entry("commits", &self.commits)?;
        out.serialize_entry("tasks", &self.tasks)?;
        optional(&mut out, "context", self.context.as_ref())?;
        out.end()
    }
}

/// A task: the members of the specification's `file-scan-task` that are not shared.
pub(crate) struct TaskObject<'a> {
    task: &'a ScanTask,
    data_file: FileObject<'a>,
    deletes: Vec<FileObject<'a>>,
    change: Option<Json>,
    merge: Option<Json>,
}

impl<'a> TaskObject<'a> {
    /// # Errors
    /// `CorruptTable` if column metrics that were kept encoded are broken.
    pub(crate) fn new(task: &'a ScanTask, form: TaskForm) -> Result<TaskObject<'a>> {
        let is_complete = form != TaskForm::Specification;
        let change = task.change.as_ref().filter(|_| is_complete);
        let section = task.merge.as_ref().filter(|_| is_complete);
        Ok(TaskObject {
            task,
            data_file: FileObject::new(&task.data_file, form)?,
            deletes: task.deletes.iter().map(|d| FileObject::new(&d.file, form)).collect::<Result<_>>()?,
            change: change.map(|change| change_object(change, form)).transpose()?,
            merge: section.map(|section| section_object(section)).transpose()?,
        })
    }

    fn members<M: SerializeMap>(&self, out: &mut M) -> Result<(), M::Error> {
        out.serialize_entry("data-file", &self.data_file)?;
        out.serialize_entry("start", &self.task.start)?;
        out.serialize_entry("length", &self.task.length)?;
        out.serialize_entry("delete-files", &self.deletes)?;
        out.serialize_entry("residual-filter", &predicate_to_json(&self.task.residual))?;
        optional(out, "change", self.change.as_ref())?;
        optional(out, "merge", self.merge.as_ref())
    }
}

impl Serialize for TaskObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        self.members(&mut out)?;
        out.end()
    }
}

/// The specification's `file-scan-task`.
pub(crate) struct FileScanTask<'a> {
    pub schema: Json,
    pub task: TaskObject<'a>,
}

impl Serialize for FileScanTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("task-type", "file-scan-task")?;
        out.serialize_entry("schema", &self.schema)?;
        out.serialize_entry("spec", &SpecObject(&self.task.data_file.file.partition, TaskForm::Specification))?;
        self.task.members(&mut out)?;
        out.end()
    }
}

pub(crate) fn task_objects(tasks: &[ScanTask], form: TaskForm) -> Result<Json> {
    let objects = tasks.iter().map(|t| TaskObject::new(t, form)).collect::<Result<Vec<_>>>()?;
    value(&objects)
}

pub(crate) fn section_object(section: &MergeSection) -> Result<Json> {
    let of_run = |run: &Vec<ScanTask>| task_objects(run, TaskForm::Complete);
    let runs = |runs: &[Vec<ScanTask>]| runs.iter().map(of_run).collect::<Result<Vec<Json>>>();
    let mut out = json!({ "runs": runs(&section.runs)? });
    if let (Some(before), Some(out)) = (&section.before, out.as_object_mut()) {
        out.insert("before".to_owned(), runs(before)?.into());
    }
    Ok(out)
}

fn change_object(change: &TaskChange, form: TaskForm) -> Result<Json> {
    let objects = |deletes: &Vec<DeleteRef>| deletes.iter().map(|d| file_object(&d.file, form)).collect();
    let removed_by: Option<Vec<Json>> = change.removed_by.as_ref().map(objects).transpose()?;
    Ok(json!({
        "operation": change.operation.as_str(),
        "ordinal": change.ordinal,
        "commit-snapshot-id": change.commit_snapshot_id,
        "removed-by": removed_by,
    }))
}

/// The changes of the commits of these tasks, each commit once.
fn commits_of(tasks: &[ScanTask]) -> BTreeMap<i64, &CommitChanges> {
    let changes = tasks.iter().filter_map(|t| t.change.as_ref());
    changes.filter_map(|c| Some((c.commit_snapshot_id, c.commit.as_deref()?))).collect()
}

fn commit_object(id: i64, commit: &CommitChanges, form: TaskForm) -> Result<Json> {
    Ok(json!({
        "commit-snapshot-id": id,
        "sequence-number": commit.sequence_number,
        "first-row-id": commit.first_row_id,
        "tasks": task_objects(&commit.tasks, form)?,
    }))
}

/// All files that a task names, except those it is merged with: they have the same partition.
fn files_of(task: &ScanTask) -> impl Iterator<Item = &Arc<DataFile>> {
    let removed_by = task.change.iter().filter_map(|c| c.removed_by.as_ref()).flatten();
    std::iter::once(&task.data_file).chain(task.deletes.iter().chain(removed_by).map(|d| &d.file))
}

/// Whether partitions have the same fields. Even with one spec, the types of a dropped column may differ.
pub(crate) fn same_fields(a: &Partition, b: &Partition) -> bool {
    let same = |(a, b): (&PartitionValue, &PartitionValue)| {
        (a.field_id, a.source_id, &a.name) == (b.field_id, b.source_id, &b.name)
            && (&a.transform, &a.ty) == (&b.transform, &b.ty)
    };
    a.values.len() == b.values.len() && a.values.iter().zip(&b.values).all(same)
}

/// The specs of these partitions, and the form of files that refer to them.
pub(crate) fn spec_objects<'a>(
    partitions: impl Iterator<Item = &'a Arc<Partition>>,
) -> (Vec<SpecObject<'a>>, TaskForm) {
    let mut form = TaskForm::Complete;
    let mut by_id: BTreeMap<i32, &Partition> = BTreeMap::new();
    for partition in partitions {
        if !same_fields(by_id.entry(partition.spec_id).or_insert(partition), partition) {
            form = TaskForm::Typed;
        }
    }
    (by_id.into_values().map(SpecObject::complete).collect(), form)
}

/// The spec of a partition.
#[derive(Clone, Copy)]
pub(crate) struct SpecObject<'a>(&'a Partition, TaskForm);

impl<'a> SpecObject<'a> {
    pub(crate) fn complete(partition: &'a Partition) -> SpecObject<'a> {
        SpecObject(partition, TaskForm::Complete)
    }
}

impl Serialize for SpecObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SpecObject(partition, form) = *self;
        let fields: Vec<_> = partition.values.iter().map(|v| SpecField(v, form)).collect();
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("spec-id", &partition.spec_id)?;
        out.serialize_entry("fields", &fields)?;
        out.end()
    }
}

struct SpecField<'a>(&'a PartitionValue, TaskForm);

impl Serialize for SpecField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SpecField(field, form) = *self;
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("name", &field.name)?;
        out.serialize_entry("transform", &field.transform.to_string())?;
        out.serialize_entry("source-id", &field.source_id)?;
        out.serialize_entry("field-id", &field.field_id)?;
        optional(&mut out, "result-type", (form == TaskForm::Complete).then(|| field.ty.to_string()))?;
        out.end()
    }
}

/// A content file.
struct FileObject<'a> {
    file: &'a DataFile,
    metrics: Option<Cow<'a, ColumnMetrics>>,
    form: TaskForm,
}

pub(crate) fn file_object(file: &DataFile, form: TaskForm) -> Result<Json> {
    value(&FileObject::new(file, form)?)
}

impl<'a> FileObject<'a> {
    fn new(file: &'a DataFile, form: TaskForm) -> Result<FileObject<'a>> {
        let metrics = file.metrics.as_ref().map(|m| m.for_once().with("path", &file.path)).transpose()?;
        Ok(FileObject { file, metrics, form })
    }
}

impl Serialize for FileObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let f = self.file;
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("spec-id", &f.partition.spec_id)?;
        out.serialize_entry("content", content_name(f.content))?;
        out.serialize_entry("file-path", &f.path)?;
        out.serialize_entry("file-format", f.format.as_str())?;
        out.serialize_entry("partition", &Tuple(&f.partition))?;
        out.serialize_entry("file-size-in-bytes", &f.size_bytes)?;
        out.serialize_entry("record-count", &f.record_count)?;
        self.metrics.as_deref().map_or(Ok(()), |m| metrics_members(m, f, &mut out))?;
        optional(&mut out, "key-metadata", f.key_metadata.as_ref().map(|k| hex_upper(k)))?;
        optional(&mut out, "split-offsets", f.split_offsets.as_ref())?;
        optional(&mut out, "equality-ids", f.equality_ids.as_ref())?;
        optional(&mut out, "sort-order-id", f.sort_order_id)?;
        optional(&mut out, "first-row-id", f.first_row_id)?;
        optional(&mut out, "referenced-data-file", f.referenced_data_file.as_ref())?;
        optional(&mut out, "content-offset", f.content_offset)?;
        optional(&mut out, "content-size-in-bytes", f.content_size_bytes)?;
        if self.form == TaskForm::Typed {
            let types: Vec<_> = f.partition.values.iter().map(|v| v.ty.to_string()).collect();
            out.serialize_entry("partition-types", &types)?;
        }
        if self.form != TaskForm::Specification {
            optional(&mut out, "sequence-number", f.sequence_number)?;
            optional(&mut out, "file-sequence-number", f.file_sequence_number)?;
            optional(&mut out, "snapshot-id", f.snapshot_id)?;
            optional(&mut out, "leveled", f.bucket_file.as_deref().map(buckets::bucket_file_object))?;
        }
        out.end()
    }
}

/// A partition's values.
struct Tuple<'a>(&'a Partition);

impl Serialize for Tuple<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |v: &PartitionValue| v.value.as_ref().map(|x| value_to_json(x.as_ref(), &v.ty));
        serializer.collect_seq(self.0.values.iter().map(value))
    }
}

fn content_name(content: FileContent) -> &'static str {
    match content {
        FileContent::Data => "data",
        FileContent::PositionDeletes => "position-deletes",
        FileContent::EqualityDeletes => "equality-deletes",
    }
}

fn metrics_members<M: SerializeMap>(m: &ColumnMetrics, file: &DataFile, out: &mut M) -> Result<(), M::Error> {
    let counts = [
        ("column-sizes", &m.column_sizes),
        ("value-counts", &m.value_counts),
        ("null-value-counts", &m.null_value_counts),
        ("nan-value-counts", &m.nan_value_counts),
    ];
    for (key, map) in counts {
        if let Some(map) = map {
            let capacity = match &file.equality_ids {
                // Java copies the metrics of these columns, into maps made with Guava for the number of columns.
                Some(ids) => guava_capacity(ids.len()),
                // A copy of another map.
                None => map.len() * 4 / 3 + 1,
            };
            out.serialize_entry(key, &in_java_order(map, capacity, |n| *n))?;
        }
    }
    for (key, map) in [("lower-bounds", &m.lower_bounds), ("upper-bounds", &m.upper_bounds)] {
        if let Some(map) = map {
            out.serialize_entry(key, &in_java_order(map, guava_capacity(map.len()), |b| hex_upper(b)))?;
        }
    }
    Ok(())
}

/// The capacity that Guava requests for a map with this number of entries.
fn guava_capacity(entries: usize) -> usize {
    (entries * 4).div_ceil(3).max(entries + 1)
}

/// The entries in the order of a `java.util.HashMap` that was made for `capacity` entries, so that the text is the
/// same as Java's. They ascend by the low bits of the hash, and otherwise keep the order of the manifest.
fn in_java_order<T, V>(map: &FieldMap<T>, capacity: usize, value: impl Fn(&T) -> V) -> KeysAndValues<V> {
    let slot = |id: FieldId| (id as u32 ^ (id as u32 >> 16)) as usize & (capacity.next_power_of_two() - 1);
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(id, _)| slot(**id));
    let (keys, values) = entries.into_iter().map(|(id, v)| (*id, value(v))).unzip();
    KeysAndValues { keys, values }
}

struct KeysAndValues<V> {
    keys: Vec<FieldId>,
    values: Vec<V>,
}

impl<V: Serialize> Serialize for KeysAndValues<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(2))?;
        out.serialize_entry("keys", &self.keys)?;
        out.serialize_entry("values", &self.values)?;
        out.end()
    }
}
