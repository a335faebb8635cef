//! One page of a plan as planned files.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::content_file::ServedFile;
use super::planner::TaskPage;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{FileContent, FileFormat, Partition, PartitionValue};
use crate::iceberg::manifest::entries::{ADDED, EntryColumns};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::deletes::{AttachedDeletes, DeleteIndex};
use crate::iceberg::plan::kept_entries::{KeptEntries, PartitionGroup};
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch, count, count_deletes};
use crate::iceberg::plan::specs::{ScanSpecs, SpecContext};
use crate::parallel::check_cancelled;
use crate::types::Value;
use crate::types::json_members::OwnedMembers;

/// The number of files between two checks for cancellation.
const FILES_BETWEEN: usize = 256;

/// What the files of a plan are judged by.
pub(super) struct PageReader {
    pub(super) specs: ScanSpecs,
    pub(super) filter: Arc<BoundPredicate>,
    pub(super) with_metrics: bool,
}

/// Files in columns, with their partitions.
#[derive(Default)]
struct FileRows {
    kept: KeptEntries,
    /// Places among the groups, by the spec and the values of the partition.
    known: HashMap<(i32, String), u32>,
}

/// The delete files of a page.
#[derive(Default)]
struct PageDeletes {
    files: KeptEntries,
    /// Places of deletion vectors by their data file.
    vectors: HashMap<String, u32>,
}

impl PageReader {
    /// The planned files of a page. A file whose partition has no matching row is left out.
    ///
    /// # Errors
    /// `CorruptTable` for tasks and files that the specification does not allow, and for deletes that are not in the
    /// page. A cancellation.
    pub(super) fn read(&self, page: TaskPage) -> Result<PlannedBatch> {
        let deletes = self.deletes(page.deletes)?;
        let (mut rows, mut lists) = (FileRows::default(), Vec::new());
        for (number, json) in page.tasks.into_iter().enumerate() {
            if number % FILES_BETWEEN == 0 {
                check_cancelled()?;
            }
            let mut m = OwnedMembers::of(json, "a task in the server's plan")?;
            let file = ServedFile::of(m.required("data-file")?, self.with_metrics)?;
            if file.content != FileContent::Data {
                return Err(Error::corrupt("a task in the server's plan reads a delete file").with("path", file.path));
            }
            let list = references(&mut m, &file, &deletes)?;
            if self.add(&mut rows, file, &self.filter, ManifestContent::Data)? {
                lists.push(list);
            }
        }
        let mut seen = PlanCounters::default();
        let mut batch = PlannedBatch::of(rows.kept);
        count(&batch, &mut seen);
        let of_deletes = PlannedBatch::of(deletes.files);
        count_deletes(&of_deletes, &mut seen);
        batch.deletes = AttachedDeletes::given(Arc::new(DeleteIndex::listed(of_deletes.entries)), lists)?;
        batch.is_attached = true;
        seen.deletes_attached = batch.deletes.total() as u64;
        batch.seen = seen;
        Ok(batch)
    }

    fn deletes(&self, files: Vec<Json>) -> Result<PageDeletes> {
        let (mut rows, mut vectors) = (FileRows::default(), HashMap::new());
        let everything = Arc::new(BoundPredicate::True);
        for (number, json) in files.into_iter().enumerate() {
            if number % FILES_BETWEEN == 0 {
                check_cancelled()?;
            }
            let file = ServedFile::of(json, self.with_metrics)?;
            let problem = match file.content {
                FileContent::Data => Some("the delete files of the server's plan include a data file"),
                FileContent::EqualityDeletes if file.equality_ids.as_ref().is_none_or(Vec::is_empty) => {
                    Some("an equality delete file in the server's plan names no key columns")
                }
                FileContent::PositionDeletes
                    if file.format == FileFormat::Puffin
                        && (file.referenced_data_file.is_none() || file.content_offset.is_none()) =>
                {
                    Some("a deletion vector in the server's plan does not name its data file and its place")
                }
                _ => None,
            };
            if let Some(problem) = problem {
                return Err(Error::corrupt(problem).with("path", file.path));
            }
            if let Some(of) = file.referenced_data_file.clone().filter(|_| file.format == FileFormat::Puffin) {
                vectors.insert(of, number as u32);
            }
            self.add(&mut rows, file, &everything, ManifestContent::Deletes)?;
        }
        Ok(PageDeletes { files: rows.kept, vectors })
    }

    /// Adds a file. Returns whether it is kept.
    fn add(
        &self,
        rows: &mut FileRows,
        file: ServedFile,
        filter: &Arc<BoundPredicate>,
        content: ManifestContent,
    ) -> Result<bool> {
        let no_spec = |_| {
            let text = format!("the server's plan uses partition spec {}, which the table does not have", file.spec_id);
            Error::corrupt(text).with("path", &file.path).hint("Load the table again: it may have changed")
        };
        let spec = self.specs.get(file.spec_id).map_err(no_spec)?;
        let key = (file.spec_id, file.partition.as_ref().map(Json::to_string).unwrap_or_default());
        let known = rows.known.get(&key).copied();
        let group = match known {
            Some(group) => group,
            None => {
                let partition = partition_of(spec, &file.tuple(&spec.spec, &spec.types)?);
                rows.kept.groups.push(spec.group(partition, filter, content));
                let group = (rows.kept.groups.len() - 1) as u32;
                rows.known.insert(key, group);
                group
            }
        };
        push(&mut rows.kept.columns, file, group, self.with_metrics)?;
        let is_kept = rows.kept.groups.get(group as usize).and_then(Option::as_ref).is_some_and(is_asked);
        if is_kept {
            rows.kept.rows.push((rows.kept.columns.len() - 1) as u32);
        }
        Ok(is_kept)
    }
}

/// Whether rows of a group can match.
fn is_asked(group: &PartitionGroup) -> bool {
    *group.residual != BoundPredicate::False
}

fn partition_of(spec: &SpecContext, tuple: &[Option<Value>]) -> Partition {
    let values = spec.spec.fields.iter().zip(&spec.types).zip(tuple).map(|((field, ty), value)| PartitionValue {
        name: field.name.clone(),
        field_id: field.field_id,
        source_id: field.source_id,
        transform: field.transform.clone(),
        ty: ty.clone(),
        value: value.clone(),
    });
    Partition { spec_id: spec.spec.id, values: values.collect() }
}

/// The places of a task's delete files.
fn references(m: &mut OwnedMembers, file: &ServedFile, deletes: &PageDeletes) -> Result<Vec<u32>> {
    let key = "delete-file-references";
    let mut out = Vec::new();
    for json in m.list(key)?.unwrap_or_default() {
        let place = json.as_u64().and_then(|place| u32::try_from(place).ok());
        let place = place.ok_or_else(|| m.error(key, "has a value that is not a whole number from 0 up"))?;
        let count = deletes.files.columns.len();
        if place as usize >= count {
            let problem = format!("names the delete file {place}, but the page has {count} of them");
            return Err(m.error(key, &problem).with("path", &file.path));
        }
        let Some(place) = deletes.meant(place, file) else {
            return Err(m.error(key, "names a deletion vector of another data file").with("path", &file.path));
        };
        if !out.contains(&place) {
            out.push(place);
        }
    }
    Ok(out)
}

impl PageDeletes {
    /// The place of the delete file that a task means. Java 1.11 names the last vector of a Puffin file where it means
    /// another one of the file. `None` if the task's data file has no vector in the page.
    fn meant(&self, place: u32, file: &ServedFile) -> Option<u32> {
        let columns = &self.files.columns;
        let is_vector = columns.format.get(place as usize) == Some(&FileFormat::Puffin);
        let is_of_file = columns.referenced_data_file.get(place as usize) == Some(file.path.as_bytes());
        // Other delete files have the path in each row.
        if is_vector && !is_of_file { self.vectors.get(&file.path).copied() } else { Some(place) }
    }
}

fn push(columns: &mut EntryColumns, file: ServedFile, group: u32, with_metrics: bool) -> Result<()> {
    columns.status.push(ADDED);
    // The API tells neither the snapshot nor the sequence numbers.
    columns.snapshot_id.push(None);
    columns.sequence_number.push(None);
    columns.file_sequence_number.push(None);
    columns.content.push(file.content);
    columns.format.push(file.format);
    columns.record_count.push(file.record_count);
    columns.size_bytes.push(file.size_bytes);
    columns.partition.push(group);
    columns.sort_order_id.push(file.sort_order_id);
    columns.first_row_id.push(file.first_row_id);
    columns.content_offset.push(file.content_offset);
    columns.content_size_bytes.push(file.content_size_bytes);
    if with_metrics {
        columns.all_metrics.push(file.metrics);
    }
    let fits = columns.path.push(Some(file.path.as_bytes()))
        && columns.key_metadata.push(file.key_metadata.as_deref())
        && columns.referenced_data_file.push(file.referenced_data_file.as_deref().map(str::as_bytes))
        && columns.split_offsets.push(file.split_offsets.as_deref())
        && columns.equality_ids.push(file.equality_ids.as_deref());
    if fits { Ok(()) } else { Err(Error::unsupported("a page of the server's plan exceeds 4 GiB")) }
}
