//! Reads data files of one bucket whose keys overlap, and merges their rows by key.
//!
//! [`read_section`] reads every sorted run as a stream of batches. Two more columns give the order of the rows, and
//! their kinds. [`super::runs`] brings rows with one key together, [`super::rules`] says how they are merged, and
//! [`super::picks`] builds the columns of the result. The filter is applied after that. Before the merge, only
//! conditions on key columns may leave out rows: they hold for all rows of a key or for none.
//!
//! Memory holds a batch of each run, and the batches from which the rows of the next batch come.
//!
//! Source: Paimon documentation, "Primary Key Table"; where it is silent, Java's `MergeFileSplitRead`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};

use super::columns::{ColumnMerge, ColumnRules, GroupPlaces};
use super::function::Function;
use super::picks::{MergedValue, Picks, RowPlace, added};
use super::rules::{Engine, MergeRules, SequenceGroup};
use super::runs::{INSERT, MergeLayout, MergeStep, SortedRuns, is_added};
use crate::data::arrow::schema::to_arrow;
use crate::data::declared_types::declared_cast::Declared;
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::positions::RowPositions;
use crate::data::read::bucket_file_columns::key_value_columns;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::read::filter::matches;
use crate::data::read::filter_columns::FilterColumns;
use crate::data::read::live::live_rows;
use crate::data::read::project::Projection;
use crate::data::read::row_columns::RowFacts;
use crate::data::read::rows::Batches;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{BucketContext, MergeSection, ReadContext, ScanTask};
use crate::store::Store;
use crate::types::metadata_columns::{DELETED, KIND_ID, POS, is_metadata};
use crate::types::options::Options;
use crate::types::{Field, FieldId, Schema, Value};

/// If more runs than this are read at once, their batches are smaller.
const FEW_RUNS: usize = 8;

/// Rows of a batch of one of many runs.
const SMALL_BATCH: usize = 1024;

/// The arguments that all readers share.
#[derive(Clone, Copy)]
pub(crate) struct MergeInput<'a> {
    pub store: &'a Arc<dyn Store>,
    pub context: &'a Arc<ReadContext>,
    pub cache: &'a DeleteCache,
}

/// The rows of a section, as [`live_rows`] gives those of a file.
///
/// # Errors
/// The errors of [`live_rows`] and of [`MergeRules::new`]; `InvalidInput` for rows that the table's options say nothing
/// about.
pub(crate) fn read_section(reading: MergeInput<'_>, task: &ScanTask, section: &MergeSection) -> Result<Batches> {
    let merge = SectionMerge::plan(reading.context, task, false, false)?;
    let narrow = Narrow::plan(&merge, reading.context, task)?;
    let rows = merge.rows(reading, &section.runs)?;
    Ok(Box::new(rows.map(move |batch| narrow.rows(&batch?)).filter(has_rows)))
}

pub(crate) fn has_rows(batch: &Result<RecordBatch>) -> bool {
    batch.as_ref().map_or(true, |batch| batch.num_rows() > 0)
}

/// How the rows of a section are merged.
#[derive(Clone)]
pub(crate) struct SectionMerge {
    /// The columns of merged rows: those of the table that are needed, then the kind if it is wanted.
    pub fields: Vec<Field>,
    schema: SchemaRef,
    /// The context that each file is read with.
    pub context: Arc<ReadContext>,
    pub layout: MergeLayout,
    pub rows: RowMerge,
    has_kind: bool,
    /// Whether only rows of level 0 and of the lowest level above it count. The latter row was merged from all older
    /// ones.
    pub by_level: bool,
    /// The part of the filter that may leave out rows of single files.
    residual: Arc<BoundPredicate>,
    pub path: String,
}

/// How the rows of a key become one row.
#[derive(Clone)]
pub(crate) enum RowMerge {
    Last { ignore_delete: bool },
    First { ignore_delete: bool },
    Columns(ColumnMerge),
}

impl SectionMerge {
    /// Plans the merge of a task with a section. With `whole`, merged rows have all columns of the table. With
    /// `has_kind`, they have the column of the kind.
    pub(crate) fn plan(
        context: &Arc<ReadContext>,
        task: &ScanTask,
        whole: bool,
        has_kind: bool,
    ) -> Result<SectionMerge> {
        let buckets = context.buckets.as_deref();
        let buckets = buckets.ok_or_else(|| Error::internal("only files in buckets are merged"))?;
        let options = Options(&buckets.options);
        let schema = &context.schema;
        let rules = MergeRules::new(&options, schema)?;
        let mut key: Vec<FieldId> = buckets.key.clone();
        let partition = task.data_file.partition.values.iter().map(|v| v.source_id);
        let fixed: Vec<FieldId> = key.iter().copied().chain(partition).collect();
        let mut fields = needed_fields(context, task, &rules, &key, whole)?;
        let functions = rules.functions(&options, &fields, &fixed)?;
        let functions: Vec<Option<Function>> = functions
            .into_iter()
            .zip(&fields)
            .map(|(f, field)| f.map(|f| f.with_bits(bits(buckets, schema, field))))
            .collect();
        // A function that looks into values needs all of them.
        for (field, function) in fields.iter_mut().zip(&functions) {
            if function.as_ref().is_some_and(Function::needs_members)
                && let Some(whole) = schema.fields.iter().find(|f| f.id == field.id)
            {
                *field = optional(whole);
            }
        }
        let layout = layout(&rules, &key, &fields)?;
        let rows = match &rules.engine {
            Engine::Deduplicate => RowMerge::Last { ignore_delete: rules.ignore_delete },
            Engine::FirstRow => RowMerge::First { ignore_delete: rules.ignore_delete },
            Engine::Aggregation | Engine::PartialUpdate(_) => {
                let types = fields.iter().map(|f| f.ty.clone()).collect();
                RowMerge::Columns(ColumnMerge { functions, types, rules: column_rules(&rules, &fields) })
            }
        };
        let read: Vec<Field> = fields.iter().cloned().chain(key_value_columns()).collect();
        let context = file_context(context, read);
        if has_kind {
            fields.extend(key_value_columns().into_iter().filter(|f| f.id == KIND_ID));
        }
        key.sort_unstable();
        let by_level = rules.by_level(&options)?;
        Ok(SectionMerge {
            by_level,
            schema: to_arrow(&Schema::new(schema.id, fields.clone(), Vec::new()))?,
            fields,
            context,
            layout,
            rows,
            has_kind,
            // Conditions on key columns alone hold for all rows of a key, or for none.
            residual: Arc::new(task.residual.clauses_of(&key)),
            path: task.data_file.path.clone(),
        })
    }

    /// The merged rows of some runs, without those that delete others.
    pub(crate) fn rows(&self, reading: MergeInput<'_>, runs: &[Vec<ScanTask>]) -> Result<MergedRows> {
        let batch_rows = match runs.len() {
            0..=FEW_RUNS => self.context.batch_rows,
            _ => self.context.batch_rows.min(SMALL_BATCH),
        };
        let context = Arc::new(ReadContext { batch_rows, ..self.context.as_ref().clone() });
        let level = |task: &ScanTask| task.data_file.bucket_file.as_ref().map_or(0, |l| l.level);
        let sources = runs.iter().map(|run| {
            let tagged = |task: &ScanTask| (task.clone(), self.by_level.then(|| level(task)));
            run_batches(reading, &context, run.iter().map(tagged), &self.residual)
        });
        self.over(sources.collect::<Result<Vec<_>>>()?)
    }

    /// The merged rows of runs. Their batches have the columns that are read from files.
    pub(crate) fn over(&self, sources: Vec<Batches>) -> Result<MergedRows> {
        let types = to_arrow(&self.context.projection)?;
        let types: Vec<DataType> = types.fields().iter().map(|f| f.data_type().clone()).collect();
        let runs = Some(SortedRuns::new(sources, self.layout.clone(), &types).with("path", &self.path)?);
        Ok(MergedRows {
            merge: self.clone(),
            runs,
            picks: Vec::new(),
            members: Vec::new(),
            most: self.context.batch_rows,
        })
    }

    /// The places of the key and the kind in merged rows.
    pub(crate) fn merged_layout(&self) -> MergeLayout {
        let (order, kind) = (Vec::new(), self.fields.len().saturating_sub(1));
        MergeLayout { key: self.layout.key.clone(), order, descending: false, sequence: None, kind }
    }
}

/// The positions of the columns that decide the merge.
fn layout(rules: &MergeRules, key: &[FieldId], fields: &[Field]) -> Result<MergeLayout> {
    let place = |id: &FieldId| {
        let place = fields.iter().position(|f| f.id == *id);
        place.ok_or_else(|| Error::corrupt(format!("the table's schema has no column {id}, but rows are merged by it")))
    };
    let places = |ids: &[FieldId]| ids.iter().map(place).collect::<Result<Vec<_>>>();
    Ok(MergeLayout {
        key: places(key)?,
        order: places(&rules.order)?,
        descending: rules.descending,
        sequence: Some(fields.len()),
        kind: fields.len() + 1,
    })
}

/// The batches of a run, one file after the other. Batches of a file with a tag have it as a last column.
pub(crate) fn run_batches(
    reading: MergeInput<'_>,
    context: &Arc<ReadContext>,
    run: impl Iterator<Item = (ScanTask, Option<i32>)>,
    residual: &Arc<BoundPredicate>,
) -> Result<Batches> {
    let (store, context, cache) = (reading.store.clone(), context.clone(), reading.cache.clone());
    let tasks: Vec<(ScanTask, Option<i32>)> =
        run.map(|(task, tag)| (ScanTask { residual: residual.clone(), change: None, ..task }, tag)).collect();
    let read = move |(task, tag): (ScanTask, Option<i32>)| -> Batches {
        match (live_rows(&store, &context, &task, &cache), tag) {
            (Ok(batches), None) => batches,
            (Ok(batches), Some(tag)) => Box::new(batches.map(move |batch| tagged(&batch?, tag))),
            (Err(e), _) => Box::new(std::iter::once(Err(e))),
        }
    };
    Ok(Box::new(tasks.into_iter().flat_map(read)))
}

/// Adds a last column with the same value in all rows.
fn tagged(batch: &RecordBatch, tag: i32) -> Result<RecordBatch> {
    let field = ArrowField::new("_TAG", DataType::Int32, false);
    let fields: Vec<_> = batch.schema().fields().iter().cloned().chain([Arc::new(field)]).collect();
    let tags: ArrayRef = Arc::new(Int32Array::from_value(tag, batch.num_rows()));
    let columns = batch.columns().iter().cloned().chain([tags]).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)
        .map_err(|e| Error::internal("the column with the file's number can't be added").because(e))
}

/// A context in which files have these columns and no others.
pub(crate) fn file_context(context: &ReadContext, fields: Vec<Field>) -> Arc<ReadContext> {
    let projection = Arc::new(Schema::new(context.schema.id, fields.clone(), Vec::new()));
    let known: BTreeSet<FieldId> = fields.iter().map(|f| f.id).collect();
    let others = context.schema.fields.iter().filter(|f| !known.contains(&f.id)).cloned();
    // The filter may need more members of a column than are read.
    let whole = |f: Field| context.schema.fields.iter().find(|w| w.id == f.id).map_or(f, optional);
    let all: Vec<Field> = fields.into_iter().map(whole).chain(others).collect();
    let schema = Arc::new(Schema::new(context.schema.id, all, Vec::new()));
    Arc::new(ReadContext { schema, projection, keep_deleted: false, ..context.clone() })
}

fn optional(field: &Field) -> Field {
    Field { required: false, ..field.clone() }
}

/// The columns that a merge reads: columns of the projection, of the filter and of the merge's rules. Rows that delete
/// others may lack any of them.
fn needed_fields(
    context: &ReadContext,
    task: &ScanTask,
    rules: &MergeRules,
    key: &[FieldId],
    whole: bool,
) -> Result<Vec<Field>> {
    let schema = &context.schema;
    let top = |id: FieldId| schema.path(id).and_then(|path| path.first().map(|f| f.id));
    let asked: BTreeSet<FieldId> = task.residual.field_ids().into_iter().filter_map(top).collect();
    let mut wanted: BTreeSet<FieldId> =
        context.projection.fields.iter().map(|f| f.id).chain(asked.iter().copied()).collect();
    if whole {
        wanted.extend(schema.fields.iter().map(|f| f.id).filter(|id| !is_metadata(*id)));
    }
    let decides = rules.needed(&wanted);
    wanted.extend(key.iter().chain(&decides));
    let in_schema = schema.fields.iter().filter(|f| wanted.contains(&f.id)).map(|field| {
        let selected = context.projection.fields.iter().find(|f| f.id == field.id);
        match selected {
            Some(selected) if !whole && !asked.contains(&field.id) && !decides.contains(&field.id) => {
                optional(selected)
            }
            _ => optional(field),
        }
    });
    let mut fields: Vec<Field> = in_schema.collect();
    let is_known = |fields: &[Field], id: FieldId| fields.iter().any(|f| f.id == id);
    for field in context.projection.fields.iter() {
        if !is_known(&fields, field.id) {
            fields.push(optional(field));
        }
    }
    match wanted.iter().find(|id| !is_known(&fields, **id)) {
        Some(id) => Err(Error::internal(format!("the schema has no column {id}"))),
        None => Ok(fields),
    }
}

/// Bits of an integer column that has fewer than its type.
pub(crate) fn bits(buckets: &BucketContext, schema: &Schema, field: &Field) -> Option<u32> {
    let declared = buckets.declared.get(&i64::from(schema.id)).and_then(|types| types.get(&field.id));
    Declared::new(field.ty.as_primitive()?, declared.map(String::as_str)).narrow_bits()
}

/// How rows with these columns are merged column by column.
pub(crate) fn column_rules(rules: &MergeRules, fields: &[Field]) -> ColumnRules {
    let Engine::PartialUpdate(partial) = &rules.engine else {
        return ColumnRules::Aggregation { remove_on_delete: rules.remove_on_delete };
    };
    let place = |id: &FieldId| fields.iter().position(|f| f.id == *id);
    let group = |group: &SequenceGroup| {
        let sequence = group.sequence.iter().map(place).collect::<Option<Vec<_>>>()?;
        let columns = group.columns.iter().filter_map(place).collect();
        Some(GroupPlaces { sequence, columns, removes: group.removes })
    };
    ColumnRules::PartialUpdate {
        ignore_delete: rules.ignore_delete,
        remove_on_delete: partial.remove_on_delete,
        has_groups: !partial.groups.is_empty(),
        groups: partial.groups.iter().filter_map(group).collect(),
    }
}

/// Streams merged rows.
pub(crate) struct MergedRows {
    merge: SectionMerge,
    /// `None` after the end or an error.
    runs: Option<SortedRuns>,
    /// The picks of each column. There is one for all if they come from the same rows.
    picks: Vec<Picks>,
    members: Vec<(usize, RowPlace)>,
    /// Most rows of a batch.
    most: usize,
}

impl MergedRows {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(runs) = &mut self.runs else { return Ok(None) };
        let width = match &self.merge.rows {
            RowMerge::Columns(columns) => columns.types.len() + usize::from(self.merge.has_kind),
            _ => 1,
        };
        self.picks = std::iter::repeat_with(Picks::default).take(width).collect();
        let most_live = 3 * runs.len() + 4;
        loop {
            let rows = self.picks.first().map_or(0, Picks::rows);
            if rows >= self.most || (runs.live.len() > most_live && rows > 0) {
                break;
            }
            if rows == 0 {
                runs.forget();
            }
            match runs.next(self.most - rows, &mut self.members)? {
                MergeStep::End => break,
                MergeStep::Rows { slot, start, rows, .. } => {
                    add_rows(&mut self.picks, runs, (slot, start, rows));
                }
                MergeStep::Group => add_group(&self.merge, &mut self.picks, runs, &self.members)?,
            }
        }
        match self.picks.first().map_or(0, Picks::rows) {
            0 => Ok(None),
            rows => self.batch(rows).map(Some),
        }
    }

    fn batch(&self, rows: usize) -> Result<RecordBatch> {
        let gone = || Error::internal("runs ended while they were merged");
        let live = &self.runs.as_ref().ok_or_else(gone)?.live;
        let fields = &self.merge.fields;
        let shared = match self.picks.as_slice() {
            [one] => Some((one, one.gather())),
            _ => None,
        };
        let column = |(index, field): (usize, &Field)| -> Result<ArrayRef> {
            let stored = if field.id == KIND_ID { self.merge.layout.kind } else { index };
            let source = |slot: u32| live.get(slot as usize).and_then(|batch| batch.columns.get(stored));
            match (&shared, self.picks.get(index)) {
                (Some((picks, gather)), _) => picks.array(gather, &field.ty, source),
                (None, Some(picks)) => picks.array(&picks.gather(), &field.ty, source),
                (None, None) if field.id == KIND_ID => Ok(added(rows)),
                (None, None) => Err(gone()),
            }
        };
        let columns = fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.merge.schema.clone(), columns, &options)
            .map_err(|e| Error::internal("merged rows are not an Arrow batch").because(e))
    }
}

/// Rows that are the only ones with their keys stay as they are, except rows that delete others.
fn add_rows(picks: &mut [Picks], runs: &SortedRuns, (slot, start, rows): (u32, u32, u32)) {
    let Some(batch) = runs.live.get(slot as usize) else { return };
    if batch.all_added {
        picks.iter_mut().for_each(|p| p.push_rows(slot, start, rows));
        return;
    }
    for row in (start..start + rows).filter(|row| is_added(batch.kind(*row))) {
        picks.iter_mut().for_each(|p| p.push_rows(slot, row, 1));
    }
}

fn add_group(
    merge: &SectionMerge,
    picks: &mut [Picks],
    runs: &SortedRuns,
    members: &[(usize, RowPlace)],
) -> Result<()> {
    let kind = |place: &RowPlace| runs.live.get(place.slot as usize).map_or(0, |batch| batch.kind(place.row));
    let counted: Vec<(usize, RowPlace)>;
    let members = match merge.by_level {
        true => {
            let level = |place: &RowPlace| runs.tag(*place, merge.layout.kind + 1);
            let above = members.iter().map(|(_, place)| level(place)).filter(|level| *level > 0).min();
            counted = members.iter().filter(|(_, p)| level(p) <= 0 || Some(level(p)) == above).copied().collect();
            &counted[..]
        }
        false => members,
    };
    let mut added_rows = members.iter().map(|(_, place)| place).filter(|place| is_added(kind(place)));
    let kept = match &merge.rows {
        RowMerge::Last { ignore_delete: true } => added_rows.next_back(),
        RowMerge::Last { ignore_delete: false } => {
            members.last().map(|(_, place)| place).filter(|place| is_added(kind(place)))
        }
        RowMerge::First { ignore_delete } => {
            if !ignore_delete && !members.iter().all(|(_, place)| is_added(kind(place))) {
                return Err(Error::invalid(
                    "a row was deleted, but a table that keeps the first rows keeps all of them",
                )
                .hint("Set 'ignore-delete' for the table"));
            }
            added_rows.next()
        }
        RowMerge::Columns(columns) => {
            let row = columns.merge_row(members, &runs.live)?;
            if !row.is_added {
                return Ok(());
            }
            let kind = merge.has_kind.then(|| MergedValue::computed(Some(Value::Int(INSERT))));
            picks.iter_mut().zip(row.columns.into_iter().chain(kind)).for_each(|(picks, held)| picks.push(held));
            return Ok(());
        }
    };
    if let Some(place) = kept {
        picks.iter_mut().for_each(|p| p.push_rows(place.slot, place.row, 1));
    }
    Ok(())
}

impl Iterator for MergedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        if !matches!(next, Ok(Some(_))) {
            self.runs = None;
        }
        next.map_err(|e| e.with("path", &self.merge.path)).transpose()
    }
}

/// Turns merged rows into the requested rows.
pub(crate) struct Narrow {
    schema: SchemaRef,
    columns: Vec<Wanted>,
    filter: Arc<BoundPredicate>,
    asked: FilterColumns,
}

enum Wanted {
    /// The column as it is.
    Column(usize),
    /// Some members of it.
    Members(Box<Projection>),
}

impl Narrow {
    /// Plans the way from the rows of `merge` to rows of the context's projection. Only rows that satisfy the task's
    /// filter stay.
    pub(crate) fn plan(merge: &SectionMerge, context: &ReadContext, task: &ScanTask) -> Result<Narrow> {
        Narrow::to(&merge.fields, &context.projection, task)
    }

    /// Plans the way from rows of these columns to rows of a projection.
    pub(crate) fn to(fields: &[Field], projection: &Schema, task: &ScanTask) -> Result<Narrow> {
        let have = Schema::new(projection.id, fields.to_vec(), Vec::new());
        let file = FileColumns::new(to_arrow(&have)?.as_ref());
        let leaves: BTreeSet<usize> = file.iter().flat_map(|c| c.leaves.clone()).collect();
        let constants = Constants::of(&task.data_file);
        let wanted = |field: &Field| {
            let place = fields.iter().position(|f| f.id == field.id);
            let place = place.ok_or_else(|| Error::internal("a column was not merged"))?;
            match fields.get(place).is_some_and(|f| f.ty == field.ty) {
                true => Ok(Wanted::Column(place)),
                false => {
                    let members = Projection::plan(std::slice::from_ref(field), &file, &constants)?;
                    Ok(Wanted::Members(Box::new(members.place(&file, &leaves))))
                }
            }
        };
        let columns = projection.fields.iter().map(wanted).collect::<Result<Vec<_>>>()?;
        let ids = task.residual.field_ids();
        if ids.contains(&POS) || ids.contains(&DELETED) {
            return Err(Error::unsupported("a filter cannot use the positions of merged rows"));
        }
        let asked = FilterColumns::plan(&ids, &have, &file, &constants)?;
        let (asked, filter) = (asked.place(&file, &leaves), task.residual.clone());
        Ok(Narrow { schema: to_arrow(projection)?, columns, filter, asked })
    }

    /// The rows of a batch that satisfy the filter.
    fn kept(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if *self.filter == BoundPredicate::True {
            return Ok(batch.clone());
        }
        let rows = batch.num_rows();
        // Values that depend on a row's place in its file were read from there.
        let positions = RowPositions::run(0..if self.asked.needs_positions() { rows as u64 } else { 0 });
        let arrays = self.asked.arrays(batch, &RowFacts { rows, positions: &positions, deleted: None })?;
        let kept = matches(&self.filter, rows, &|id| arrays.get(&id).cloned())?;
        match kept.count_set_bits() == rows {
            true => Ok(batch.clone()),
            false => filter_record_batch(batch, &BooleanArray::new(kept, None))
                .map_err(|e| Error::internal("rows cannot be filtered").because(e)),
        }
    }

    /// Those rows, in the wanted columns.
    pub(crate) fn rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.columns_of(&self.kept(batch)?)
    }

    /// The wanted columns of rows.
    fn columns_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (rows, nowhere) = (batch.num_rows(), RowPositions::default());
        let facts = RowFacts { rows, positions: &nowhere, deleted: None };
        let absent = || Error::internal("a merged column is not there");
        let column = |wanted: &Wanted| match wanted {
            Wanted::Column(place) => batch.columns().get(*place).cloned().ok_or_else(absent),
            Wanted::Members(projection) => {
                projection.project(batch, &facts)?.columns().first().cloned().ok_or_else(absent)
            }
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::corrupt("the files' rows contradict the table's schema").because(e))
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
