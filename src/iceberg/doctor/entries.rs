//! Entries of manifests: checks of a single entry, and the facts that are compared with those of other entries.

use std::sync::Arc;

use super::codes;
use super::examination::Examination;
use super::seen::{FileToCheck, Kept, LiveData, LiveDelete, path_hash};
use crate::codec::xxhash::xxh64;
use crate::data::verify::compare::{RecordedColumn, against_itself, name};
use crate::data::verify::partition::against_bounds;
use crate::error::Result;
use crate::format::task::{DataFile, FileContent, FileFormat, Partition};
use crate::iceberg::manifest::entries::{ADDED, DELETED, EntryColumns, MISSING};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::types::metadata_columns::DELETE_FILE_PATH;
use crate::types::{FieldId, Schema};

/// A batch of entries and the manifest that has them.
pub(super) struct EntryFacts<'a> {
    pub of: &'a Examination<'a>,
    pub listed: &'a ManifestFile,
    pub place: u32,
    pub schema: &'a Schema,
    pub columns: &'a EntryColumns,
    pub partitions: &'a [Arc<Partition>],
    pub hashes: &'a [u64],
}

impl EntryFacts<'_> {
    /// Checks an entry. Keeps its facts, and its file if nobody has checked that yet.
    pub(super) fn check(&self, row: usize, kept: &mut Kept, out: &mut Vec<FileToCheck>) -> Result<()> {
        let (c, findings) = (self.columns, self.of.findings);
        let Some(path) = c.path.get(row).and_then(|p| std::str::from_utf8(p).ok()) else {
            findings.add(&codes::ENTRY_IMPOSSIBLE, &self.listed.path, "a path is not UTF-8");
            return Ok(());
        };
        if c.status[row] == DELETED {
            return Ok(());
        }
        self.check_numbers(row, path);
        let number = c.partition[row] as usize;
        let (Some(partition), Some(hash)) = (self.partitions.get(number), self.hashes.get(number)) else {
            return Ok(());
        };
        if !self.of.is_inside(path) {
            kept.elsewhere.0 += 1;
            kept.elsewhere.1.get_or_insert_with(|| path.to_owned());
        }
        let (key, bytes) = (path_hash(path), c.size_bytes[row]);
        if c.content[row] == FileContent::Data {
            self.check_metrics(row, path, partition, kept);
            self.keep_data(row, path, *hash, kept);
            if self.of.is_first(key) {
                let file = match self.of.wants_footer() {
                    true => Some(Box::new(c.data_file(row, partition.clone())?)),
                    false => None,
                };
                out.push(FileToCheck { path: path.to_owned(), bytes, is_first_of_file: true, file });
            }
            return Ok(());
        }
        let file = Box::new(c.data_file(row, partition.clone())?);
        self.keep_delete(&file, *hash, kept);
        let unique = if file.format == FileFormat::Puffin { vector_key(&file) } else { key };
        if self.of.is_first(unique) {
            let is_first_of_file = unique == key || self.of.is_first(key);
            out.push(FileToCheck { path: path.to_owned(), bytes, is_first_of_file, file: Some(file) });
        }
        Ok(())
    }

    fn check_numbers(&self, row: usize, path: &str) {
        let (c, findings) = (self.columns, self.of.findings);
        let is_data = c.content[row] == FileContent::Data;
        if (self.listed.content == ManifestContent::Data) != is_data {
            let evidence = format!("{:?} in {}", c.content[row], self.listed.path);
            findings.add(&codes::ENTRY_CONTENT, path, evidence);
        }
        let (rows, bytes) = (c.record_count[row], c.size_bytes[row]);
        if rows < 0 || bytes <= 0 {
            findings.add(&codes::ENTRY_IMPOSSIBLE, path, format!("{rows} rows and {bytes} bytes are recorded"));
        }
        let own = self.listed.sequence_number;
        let numbers = [("data", c.sequence_number[row]), ("file", c.file_sequence_number[row])];
        for (which, number) in numbers {
            match number {
                None => findings.add(&codes::ENTRY_SEQUENCE, path, format!("it has no {which} sequence number")),
                Some(n) if n > own => {
                    let evidence = format!("its {which} sequence number is {n}, that of its manifest {own}");
                    findings.add(&codes::ENTRY_SEQUENCE, path, evidence);
                }
                Some(_) => {}
            }
        }
        let (snapshot, added_by) = (c.snapshot_id[row], self.listed.added_snapshot_id);
        if c.status[row] == ADDED
            && let (Some(snapshot), Some(added_by)) = (snapshot, added_by)
            && snapshot != added_by
        {
            let evidence = format!("added by snapshot {snapshot}, its manifest by {added_by}");
            findings.add(&codes::ENTRY_SNAPSHOT, path, evidence);
        }
    }

    /// The recorded metrics of one column.
    fn column(&self, row: usize, id: FieldId) -> Option<RecordedColumn<'_>> {
        let m = self.columns.metrics.iter().find(|m| m.field_id == id)?;
        let count = |counts: &[i64]| counts.get(row).copied().filter(|n| *n != MISSING);
        let (values, nulls) = (count(&m.value_count), count(&m.null_count));
        Some(RecordedColumn { values, nulls, lower: m.lower.get(row), upper: m.upper.get(row) })
    }

    fn check_metrics(&self, row: usize, path: &str, partition: &Partition, kept: &mut Kept) {
        let mut differences = Vec::new();
        let rows = self.columns.record_count[row];
        for field in &self.of.metric_columns {
            let Some(recorded) = self.column(row, field.id) else { continue };
            let name = || name(self.schema, field.id);
            if recorded.lower.is_some() || recorded.nulls.is_some() || recorded.values.is_some() {
                let rows = (!field.is_repeated).then_some(rows);
                against_itself(&name, &field.ty, recorded, rows, &mut differences);
            }
            if field.is_important {
                let sums = kept.bounded.entry((field.id, self.place)).or_default();
                let all_null = recorded.nulls.is_some() && recorded.nulls == recorded.values;
                match recorded.lower.is_some() || all_null || rows == 0 {
                    true => sums.0 += 1,
                    false => sums.1 += 1,
                }
            }
            if field.orders {
                let bounds = kept.order.entry(field.id).or_default();
                bounds.add(self.place, recorded.lower, recorded.upper, &field.ty);
            }
        }
        for value in &partition.values {
            if let Some(recorded) = self.column(row, value.source_id) {
                against_bounds(self.schema, value, recorded, &mut differences);
            }
        }
        for difference in differences {
            self.of.findings.add(difference.code, path, difference.evidence);
        }
    }

    fn keep_data(&self, row: usize, path: &str, partition: u64, kept: &mut Kept) {
        let c = self.columns;
        kept.data.push(LiveData {
            key: path_hash(path),
            manifest: self.place,
            sequence: c.sequence_number[row].unwrap_or(0),
            rows: c.record_count[row],
            bytes: c.size_bytes[row],
            partition,
            first_row: c.first_row_id[row].unwrap_or(-1),
        });
    }

    fn keep_delete(&self, file: &DataFile, partition: u64, kept: &mut Kept) {
        let findings = self.of.findings;
        let is_vector = file.format == FileFormat::Puffin;
        let has_place = file.content_offset.is_some() && file.content_size_bytes.is_some();
        if is_vector && (file.referenced_data_file.is_none() || !has_place) {
            findings.add(&codes::VECTOR_INCOMPLETE, &file.path, "it names no data file, or no offset and length");
        }
        if file.content == FileContent::EqualityDeletes {
            let ids = file.equality_ids.as_deref().unwrap_or_default();
            let unknown = |id: &&FieldId| !self.of.metadata.schemas.iter().any(|s| s.field(**id).is_some());
            match ids.iter().find(unknown) {
                Some(id) => findings.add(&codes::DELETE_KEYS, &file.path, format!("no schema has the column id {id}")),
                None if ids.is_empty() => findings.add(&codes::DELETE_KEYS, &file.path, "it names no columns"),
                None => {}
            }
        }
        let spec = self.of.metadata.spec_by_id(file.partition.spec_id);
        kept.deletes.push(LiveDelete {
            key: if is_vector { vector_key(file) } else { path_hash(&file.path) },
            manifest: self.place,
            sequence: file.sequence_number.unwrap_or(0),
            rows: file.record_count,
            bytes: file.content_size_bytes.unwrap_or(file.size_bytes),
            partition,
            is_global: spec.map_or(true, |spec| spec.is_unpartitioned()),
            names: named(file).map(|path| path_hash(&path)),
            content: file.content,
            is_vector,
            path: file.path.as_str().into(),
        });
    }
}

/// The hash of a deletion vector: of its file and its place there.
fn vector_key(file: &DataFile) -> u64 {
    xxh64(&file.content_offset.unwrap_or(-1).to_le_bytes(), path_hash(&file.path))
}

/// The only data file that a position delete file or deletion vector names.
pub(super) fn named(file: &DataFile) -> Option<String> {
    if file.content != FileContent::PositionDeletes {
        return None;
    }
    if let Some(path) = &file.referenced_data_file {
        return Some(path.clone());
    }
    let metrics = file.metrics.as_ref()?.get().ok()?;
    let bound = |map: &Option<crate::format::task::FieldMap<Vec<u8>>>| map.as_ref()?.get(&DELETE_FILE_PATH).cloned();
    let lower = bound(&metrics.lower_bounds)?;
    let is_one = bound(&metrics.upper_bounds).as_ref() == Some(&lower);
    String::from_utf8(lower).ok().filter(|path| is_one && crate::iceberg::plan::deletes::is_whole_path(path.as_bytes()))
}
