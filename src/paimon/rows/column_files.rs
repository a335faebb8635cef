//! Updating rows of tables whose columns are in several files: new files of the changed columns.
//!
//! A new file has the changed columns of all rows of a group, with the old values of the other rows. Scans take each
//! column from the newest file that has it. Deletion vectors stay as they are.
//!
//! Source: Java's `MergeIntoPaimonDataEvolutionTable`, `DataEvolutionPaimonWriter`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};

use super::column_writer::ColumnWriter;
use super::fate::Fate;
use super::found::FileHits;
use super::unpublished::Unpublished;
use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::ScanReader;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{BucketFile, FileContent, FileFormat, MergeSection, ScanTask};
use crate::paimon::manifest::index_manifest::read_index_manifest;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::parallel::check_cancelled;
use crate::rows::row_changes::changed_batch::{ChangedBatch, joined};
use crate::rows::row_changes::patch::Patch;
use crate::rows::row_changes::placed::{Placed, placed};
use crate::types::{Field, FieldId, Schema};

impl PaimonTable {
    /// Writes the changed columns of the groups of rows that some hits are in. Returns the number of updated rows.
    ///
    /// # Errors
    /// `Unsupported` for columns of type BLOB, and for changes that delete rows; errors of reading and writing; a
    /// cancellation.
    pub(super) fn write_columns(
        &self,
        scan: &PaimonScan,
        hits: &[FileHits],
        fate: &Fate<'_>,
        new: &mut Unpublished<'_>,
    ) -> Result<u64> {
        if hits.is_empty() {
            return Ok(0);
        }
        let named = self.named_columns(fate)?;
        let mut rewriter = Rewriter::new(self, scan, fate, &named)?;
        let (changed, hits) = match fate.patch.changes_all() {
            true => (named, hits.iter().collect()),
            false => rewriter.found_changes(&named, hits, fate.patch)?,
        };
        if hits.is_empty() {
            return Ok(0);
        }
        self.check_changeable(&changed)?;
        rewriter.change(self, changed);
        let mut writer = ColumnWriter::new(self, &rewriter.changed)?;
        let mut updated = 0;
        for hit in hits {
            updated += rewriter.rewrite(hit, fate.patch, &mut writer).with("rewritten", &hit.task.data_file.path)?;
        }
        let next = scan.snapshot_id().and_then(|id| id.checked_add(1)).unwrap_or(1);
        new.data.extend(writer.finish(next)?);
        Ok(updated)
    }

    /// The places of the columns that a change sets.
    fn named_columns(&self, fate: &Fate<'_>) -> Result<Vec<usize>> {
        let schema = self.table_schema();
        let no = |what: &str| PAIMON.lacks(what).with("table", self.location());
        if fate.may_delete {
            return Err(no("merges that delete rows of tables with 'data-evolution.enabled'")
                .hint("Delete the rows by a filter first, in a commit of its own"));
        }
        let named = schema.fields.iter().enumerate().filter(|(_, f)| fate.columns.contains(&f.name.as_str()));
        let places = named.map(|(at, field)| match field.ty.has_blobs() {
            false => Ok(at),
            true => Err(no("changes of columns of type BLOB").with("column", &field.name).hint("Java Paimon does it")),
        });
        places.collect()
    }

    /// Refuses changes of partition columns, and of columns with a global index.
    fn check_changeable(&self, places: &[usize]) -> Result<()> {
        let schema = self.table_schema();
        let names = places.iter().filter_map(|at| schema.fields.get(*at)).map(|field| &field.name);
        if let Some(name) = names.into_iter().find(|name| schema.partition_keys.contains(name)) {
            return Err(PAIMON
                .lacks("changes of partition columns of tables with 'data-evolution.enabled'")
                .with("table", self.location())
                .with("column", name)
                .hint("Delete the rows, and append them to the other partition"));
        }
        self.check_not_indexed(places)
    }

    /// Refuses changes of columns whose global index would name rows by their old values.
    ///
    /// Source: Java's option `global-index.column-update-action`, whose default is `THROW_ERROR`.
    fn check_not_indexed(&self, places: &[usize]) -> Result<()> {
        let manifest = self.metadata().snapshot.as_ref().and_then(|s| s.index_manifest.as_deref());
        let Some(name) = manifest else { return Ok(()) };
        let entries = read_index_manifest(self.folder().manifests(), name)?;
        let indexed: Vec<FieldId> = entries
            .iter()
            .filter_map(|entry| entry.global.as_ref())
            .flat_map(|index| index.extra_field_ids.iter().flatten().copied().chain([index.field_id]))
            .collect();
        let fields = places.iter().filter_map(|at| self.table_schema().fields.get(*at));
        match fields.into_iter().find(|field| indexed.contains(&field.id)) {
            None => Ok(()),
            Some(field) => Err(PAIMON
                .lacks("changes of columns that have a global index")
                .with("table", self.location())
                .with("column", &field.name)
                .hint("Drop the index first: table.maintain.drop_global_index(columns, kind)")),
        }
    }
}

/// Reads groups of rows, and gives their columns new values.
struct Rewriter {
    reader: ScanReader,
    rows: PartlyRead,
    changed: Vec<usize>,
    /// The names of the changed columns.
    names: Vec<String>,
}

impl Rewriter {
    fn new(table: &PaimonTable, scan: &PaimonScan, fate: &Fate<'_>, named: &[usize]) -> Result<Rewriter> {
        let fields = &table.schema().fields;
        let rows = match &fate.needs {
            // No other column decides about the new values.
            Some(needs) => {
                let read = (0..fields.len()).filter(|at| named.contains(at) || needs.contains(at));
                PartlyRead::new(fields, read.collect())?
            }
            None => PartlyRead::without_blobs(table)?,
        };
        Ok(Rewriter { reader: scan.placed_reader(&rows.fields), rows, changed: Vec::new(), names: Vec::new() })
    }

    /// Sets the columns that are written.
    fn change(&mut self, table: &PaimonTable, changed: Vec<usize>) {
        let fields = &table.schema().fields;
        self.names = changed.iter().filter_map(|at| fields.get(*at)).map(|field| field.name.clone()).collect();
        self.changed = changed;
    }

    /// The columns that get another value in some row, and the hits with such rows.
    fn found_changes<'h>(
        &self,
        named: &[usize],
        hits: &'h [FileHits],
        patch: &dyn Patch,
    ) -> Result<(Vec<usize>, Vec<&'h FileHits>)> {
        let (mut changed, mut changing) = (vec![false; named.len()], Vec::new());
        for hit in hits {
            let mut changes = false;
            self.each_batch(hit, patch, &mut |batch, _| {
                changes |= batch.changes();
                for (known, place) in changed.iter_mut().zip(named) {
                    *known = *known || batch.changes_column(*place)?;
                }
                Ok(())
            })?;
            changing.extend(changes.then_some(hit));
        }
        let places = named.iter().zip(changed).filter(|(_, changed)| *changed).map(|(place, _)| *place);
        Ok((places.collect(), changing))
    }

    /// Writes the changed columns of all rows of a hit's group. Returns how many rows change.
    fn rewrite(&self, hit: &FileHits, patch: &dyn Patch, writer: &mut ColumnWriter) -> Result<u64> {
        let rows = hit.task.data_file.as_ref();
        if rows.content != FileContent::Data || rows.first_row_id.is_none() {
            return Err(Error::corrupt("the rows of a file have no ids"));
        }
        writer.begin(rows, newest(&hit.task, &self.names))?;
        let mut updated = 0;
        self.each_batch(hit, patch, &mut |batch, count| {
            updated += batch.updated();
            let after = batch.after(None)?;
            if after.num_rows() != count {
                return Err(Error::internal("a change lost rows"));
            }
            writer.write(&after.project(&self.changed).map_err(joined)?)
        })?;
        writer.end()?;
        Ok(if hit.positions.is_none() { hit.rows() } else { updated })
    }

    /// Calls `take` with the rows of a hit's group and their number, batch by batch.
    fn each_batch(
        &self,
        hit: &FileHits,
        patch: &dyn Patch,
        take: &mut dyn FnMut(ChangedBatch, usize) -> Result<()>,
    ) -> Result<()> {
        let mut seen = 0;
        for batch in self.reader.read(&with_deleted_rows(&hit.task))? {
            check_cancelled()?;
            let Placed { positions, rows } = placed(batch?)?;
            let whole = Placed { positions, rows: self.rows.whole(&rows)? };
            take(ChangedBatch::of(whole, hit.found(), &mut seen, patch)?, rows.num_rows())?;
        }
        hit.found().check_seen(seen)
    }
}

/// Rows with all columns of a table. Some are read, the others are null.
pub(super) struct PartlyRead {
    /// The columns that are read.
    pub(super) fields: Vec<Field>,
    read: Vec<usize>,
    /// All columns, with nulls.
    whole: SchemaRef,
}

impl PartlyRead {
    fn new(all: &[Field], read: Vec<usize>) -> Result<PartlyRead> {
        let whole = to_arrow(&Schema::new(0, all.to_vec(), Vec::new()))?;
        let optional = whole.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        Ok(PartlyRead {
            fields: read.iter().filter_map(|at| all.get(*at).cloned()).collect(),
            whole: Arc::new(ArrowSchema::new(optional.collect::<Vec<_>>())),
            read,
        })
    }

    /// Large values are not read: merges don't change them.
    pub(super) fn without_blobs(table: &PaimonTable) -> Result<PartlyRead> {
        let blobs = table.table_schema().blob_places();
        let fields = &table.schema().fields;
        PartlyRead::new(fields, (0..fields.len()).filter(|at| !blobs.contains(at)).collect())
    }

    /// The rows with the columns of the table.
    pub(super) fn whole(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |at: usize| -> ArrayRef {
            let found = self.read.iter().position(|read| *read == at).and_then(|place| rows.columns().get(place));
            found.cloned().unwrap_or_else(|| new_null_array(self.whole.field(at).data_type(), rows.num_rows()))
        };
        let columns = (0..self.whole.fields().len()).map(column).collect();
        RecordBatch::try_new(self.whole.clone(), columns).map_err(joined)
    }
}

/// The greatest sequence number of the files that have one of these columns. Columns in files of blobs are not changed.
fn newest(task: &ScanTask, columns: &[String]) -> i64 {
    let has_one = |file: &BucketFile| match &file.write_columns {
        Some(names) => names.iter().any(|name| columns.contains(name)),
        None => true,
    };
    let number = |task: &ScanTask| {
        let file = task.data_file.bucket_file.as_ref().filter(|file| has_one(file));
        file.filter(|_| task.data_file.format != FileFormat::Blob).map_or(0, |file| file.max_sequence_number)
    };
    match &task.merge {
        Some(section) => section.runs.iter().flatten().map(number).fold(0, i64::max),
        None => number(task),
    }
}

/// A task that reads all rows of its group, also those that are deleted: a new file has the same rows.
fn with_deleted_rows(task: &ScanTask) -> ScanTask {
    let all = |task: &ScanTask| ScanTask {
        residual: Arc::new(BoundPredicate::True),
        deletes: Vec::new(),
        change: None,
        merge: None,
        ..task.clone()
    };
    let section = task.merge.as_ref().map(|section| {
        let runs = section.runs.iter().map(|run| run.iter().map(all).collect()).collect();
        Arc::new(MergeSection { runs, before: None })
    });
    ScanTask { merge: section, ..all(task) }
}
