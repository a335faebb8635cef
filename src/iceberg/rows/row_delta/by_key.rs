//! Deleting rows by key without looking for them: equality delete files.
//!
//! The time does not depend on the size of the table. An equality delete applies to earlier commits, in the partition
//! that it is written to. One of an unpartitioned spec applies to the whole table. The keys are written for every spec
//! that data files have, where the key tells the partition. Otherwise they are written once for the whole table. So all
//! rows with a key are deleted, under all specs that the table has had.
//!
//! Source: Iceberg specification, "Equality Delete Files" and "Scan Planning".

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;

use crate::data::write::conform::Conformer;
use crate::data::write::context::WriteContext;
use crate::data::write::delete_write::DeleteForm;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::rows::effect::{Delta, Effect};
use crate::iceberg::rows::view::View;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::key_columns::KeyColumns;
use crate::rows::row_changes::keys::KeyIndex;
use crate::rows::stream::RowReader;
use crate::store::Location;
use crate::types::{Field, PartitionSpec, Transform};

/// Deletes all rows that have a key of `rows` in the columns `on`; with `insert`, `rows` replace them. Null is an
/// ordinary key without `insert`, and refused with it.
///
/// # Errors
/// `Unsupported` for version 1, members of structs and types that can't be keys. `InvalidInput` for unknown columns
/// and for keys that don't tell the partition of rows. For rows to insert, also for null keys and repeated keys.
pub(crate) fn by_key(view: &View, rows: RowReader, on: &[String], insert: bool, task: u64) -> Result<Delta> {
    DeleteForm::of_version(view.table.format_version())?;
    let keys = KeyColumns::new(view.table.schema(), on)?;
    keys.check_deletable()?;
    view.check_deletes_by_key()?;
    let specs = DeleteSpecs::reached(view, &keys.flat().fields)?;
    let mut writers = Writers::new(view, &keys, &specs, insert, task)?;
    let empty = RecordBatch::new_empty(rows.schema());
    let mut first = 0;
    // The columns are checked even without rows.
    for batch in std::iter::once(Ok(empty)).chain(rows) {
        check_cancelled()?;
        let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
        writers.write(&batch, first)?;
        first += batch.num_rows() as u64;
    }
    let mut effect = Effect::none(view);
    for writer in writers.deletes.into_iter().chain(writers.rows) {
        effect.added.add(writer.finish()?);
    }
    Ok(Delta { effect, specs: specs.only })
}

/// The specs that equality deletes are written for.
struct DeleteSpecs {
    written: Vec<Arc<PartitionSpec>>,
    /// The specs whose data files the deletes apply to; `None` if all.
    only: Option<BTreeSet<i32>>,
}

impl DeleteSpecs {
    /// Returns specs whose equality deletes together apply to all rows with such keys. These are the specs of data
    /// files, and the current spec, since other writers may append meanwhile.
    fn reached(view: &View, keys: &[Field]) -> Result<DeleteSpecs> {
        let metadata = &view.table.inner.metadata;
        let mut ids = specs_with_data(view)?;
        ids.insert(view.table.partition_spec().id);
        let specs = ids.iter().map(|id| metadata.spec_by_id(*id).cloned()).collect::<Result<Vec<_>>>()?;
        let tells = |spec: &PartitionSpec| {
            let mut sources = spec.fields.iter().filter(|f| f.transform != Transform::Void);
            sources.find(|f| !keys.iter().any(|key| key.id == f.source_id)).map(|f| f.name.clone())
        };
        let missing = specs.iter().find_map(|spec| tells(spec));
        if missing.is_none() && !specs.iter().any(|spec| spec.is_unpartitioned()) {
            return Ok(DeleteSpecs { written: specs, only: Some(ids) });
        }
        let whole = metadata.partition_specs.iter().filter(|spec| spec.is_unpartitioned());
        match (whole.min_by_key(|spec| spec.fields.len()), missing) {
            (Some(spec), _) => Ok(DeleteSpecs { written: vec![spec.clone()], only: None }),
            (None, missing) => Err(Error::invalid("the key does not determine the partition of its rows")
                .with("partition field", missing.unwrap_or_default())
                .hint("Add the columns that the table is partitioned by to on=[...], or use delete() or upsert()")),
        }
    }
}

/// The specs of the data files of the view's snapshot, as far as manifests tell.
fn specs_with_data(view: &View) -> Result<BTreeSet<i32>> {
    let Some(snapshot) = view.scan(Predicate::True)?.plan_input().snapshot else { return Ok(BTreeSet::new()) };
    let manifests = load_manifests(view.store().as_ref(), &Location::recorded(), &snapshot)?;
    let live = |m: &&ManifestFile| {
        m.content == ManifestContent::Data && (m.added_files_count != Some(0) || m.existing_files_count != Some(0))
    };
    Ok(manifests.iter().filter(live).map(|m| m.spec_id).collect())
}

/// The writers of keys and rows.
struct Writers<'a> {
    keys: &'a KeyColumns,
    conformer: Conformer,
    deletes: Vec<DataWriter>,
    /// For rows to insert, and their keys.
    rows: Option<DataWriter>,
    index: Option<KeyIndex>,
}

impl<'a> Writers<'a> {
    fn new(view: &View, keys: &'a KeyColumns, specs: &DeleteSpecs, insert: bool, task: u64) -> Result<Writers<'a>> {
        let deletes = specs.written.iter().map(|spec| {
            let context = WriteContext { spec: spec.clone(), ..view.table.write_context(task)? };
            DataWriter::of_equality_deletes(view.store().clone(), context, keys.ids())
        });
        let conformer = Conformer::new(keys.flat().clone())?;
        let types: Vec<DataType> = conformer.target().fields().iter().map(|f| f.data_type().clone()).collect();
        let rows = || DataWriter::new(view.store().clone(), view.table.write_context(task)?);
        Ok(Writers {
            keys,
            deletes: deletes.collect::<Result<_>>()?,
            conformer,
            rows: insert.then(rows).transpose()?,
            index: insert.then(|| KeyIndex::new(&types)).transpose()?,
        })
    }

    fn write(&mut self, batch: &RecordBatch, first: u64) -> Result<()> {
        let keys = self.conformer.conform(&self.keys.of_data(batch)?, first)?;
        if let (Some(rows), Some(index)) = (&mut self.rows, &mut self.index) {
            check_no_null(&keys, first)?;
            index.add(keys.columns())?;
            rows.write(batch)?;
        }
        self.deletes.iter_mut().try_for_each(|writer| writer.write(&keys))
    }
}

fn check_no_null(keys: &RecordBatch, first: u64) -> Result<()> {
    for (column, field) in keys.columns().iter().zip(keys.schema().fields()) {
        if let Some(row) = (0..column.len()).find(|row| column.null_count() > 0 && column.is_null(*row)) {
            return Err(Error::invalid("a key of a row to insert is null")
                .with("column", field.name())
                .with("row", first + row as u64)
                .hint("Whether null equals null differs between engines: append() such rows"));
        }
    }
    Ok(())
}
