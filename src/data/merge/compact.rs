//! Merges files of one bucket for a compaction. Rows keep their sequence numbers and kinds. So rows that delete others
//! are among them, unless the compaction drops them.
//!
//! A compaction may also need the changes by the merge (changelogs), and the rows of other files that the merged rows
//! replace (deletion vectors). Those files, `above`, are read as further runs. Only their rows with a compacted key
//! count.
//!
//! Source: Java's `ReducerMergeFunctionWrapper`, `FullChangelogMergeFunctionWrapper`, `LookupMergeFunction`,
//! `LookupChangelogMergeFunctionWrapper` and `FirstRowMergeFunctionWrapper`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};

use super::columns::MergedRow;
use super::picks::{Computed, MergedValue, Picks, RowPlace};
use super::read::{MergeInput, RowMerge, SectionMerge, file_context, run_batches};
use super::runs::{DELETE, INSERT, MergeLayout, MergeStep, SortedRuns, is_added};
use crate::data::arrow::schema::to_arrow;
use crate::data::declared_types::declared_cast::array_of;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::bucket_file_columns::key_value_columns;
use crate::data::read::rows::Batches;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{ReadContext, ScanTask};
use crate::store::Store;
use crate::types::metadata_columns::{POS, metadata_column};
use crate::types::{Field, Schema, Type, Value};

/// Kinds of rows in changelogs.
const UPDATE_BEFORE: i32 = 1;
const UPDATE_AFTER: i32 = 2;

/// Most rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The purpose of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The merged rows alone.
    Rows,
    /// The changes since the last compaction to the level `top`. All files are compacted to that level.
    SinceTop {
        /// The level to which all files are compacted.
        top: i32,
    },
    /// Rows of level 0 are compared with older rows, in compacted files or above.
    Lookup {
        /// Whether to report changes.
        changelog: bool,
        /// Whether rows above are deleted in their files.
        vectors: bool,
    },
}

/// How the files of a bucket are merged.
pub struct CompactMerge {
    merge: SectionMerge,
    reduction: Reduction,
    drops_deletes: bool,
    /// The columns that are compared to leave out changes without any difference; `None` to keep all changes.
    compared: Option<Vec<usize>>,
    /// True for rows of files that are not left out.
    stays: Arc<BoundPredicate>,
    schema: SchemaRef,
}

/// Merged rows with the columns of [`CompactMerge::schema`].
#[derive(Clone, Debug)]
pub struct CompactionOutput {
    /// The rows, by key.
    pub rows: RecordBatch,
    /// The changes.
    pub changelog: RecordBatch,
    /// Rows of files above that are replaced or deleted: the file's path, and the row's place in it.
    pub deleted: Vec<(Arc<str>, u64)>,
}

impl CompactMerge {
    /// Makes a merge of files that a context without filter reads. With `drops_deletes`, rows that delete others are
    /// left out of the merged rows.
    ///
    /// # Errors
    /// The errors of [`SectionMerge::plan`].
    pub fn new(
        context: &Arc<ReadContext>,
        task: &ScanTask,
        reduction: Reduction,
        drops_deletes: bool,
    ) -> Result<CompactMerge> {
        let merge = SectionMerge::plan(context, task, true, false)?;
        let own = key_value_columns().map(|f| Field { required: true, ..f });
        let fields: Vec<Field> = merge.fields.iter().cloned().chain(own).collect();
        let schema = to_arrow(&Schema::new(context.schema.id, fields, Vec::new()))?;
        let stays = Arc::new(BoundPredicate::True);
        Ok(CompactMerge { merge, reduction, drops_deletes, compared: None, stays, schema })
    }

    /// Leaves out changes without a difference, and changes of only these columns.
    #[must_use]
    pub fn comparing(self, ignored: &[&str]) -> Self {
        let fields = self.merge.fields.iter().enumerate();
        let compared = fields.filter(|(_, f)| !ignored.contains(&f.name.as_str())).map(|(i, _)| i).collect();
        CompactMerge { compared: Some(compared), ..self }
    }

    /// Leaves out the rows of files for which this is not true.
    #[must_use]
    pub fn keeping(self, stays: Arc<BoundPredicate>) -> Self {
        CompactMerge { stays, ..self }
    }

    /// Whether other columns than the keys matter in the rows above.
    fn needs_values(&self) -> bool {
        match self.reduction {
            Reduction::Lookup { changelog, vectors } => {
                let newest = matches!(self.merge.rows, RowMerge::Last { .. }) && self.merge.layout.order.is_empty();
                let first = matches!(self.merge.rows, RowMerge::First { .. });
                !first && (changelog || !vectors || !newest)
            }
            _ => false,
        }
    }

    /// The merged rows of some runs. `above` are runs that are not compacted, those of lower levels first.
    ///
    /// # Errors
    /// The errors of [`crate::data::read::task::read_task`].
    pub fn rows<'a>(
        &'a self,
        store: &Arc<dyn Store>,
        cache: &DeleteCache,
        runs: &[Vec<ScanTask>],
        above: &[Vec<ScanTask>],
    ) -> Result<CompactedRows<'a>> {
        let batch_rows = if runs.len() + above.len() > 8 { 1024 } else { self.merge.context.batch_rows };
        let context = Arc::new(ReadContext { batch_rows, ..self.merge.context.as_ref().clone() });
        let reading = MergeInput { store, context: &context, cache };
        let all = Arc::new(BoundPredicate::True);
        // Rows that do not stay also decide which row of a key is the first.
        let seen_above = if matches!(self.merge.rows, RowMerge::First { .. }) { &all } else { &self.stays };
        let mut files: Vec<Arc<ScanTask>> = Vec::new();
        let mut sources = Vec::new();
        for run in runs {
            let tagged = tag(run, &mut files);
            sources.push(run_batches(reading, &context, tagged.into_iter(), &self.stays)?);
        }
        let looked_up = Above::new(self, &context)?;
        for run in above {
            let tagged = tag(run, &mut files);
            let batches = run_batches(reading, &looked_up.context, tagged.into_iter(), seen_above)?;
            sources.push(looked_up.padded(batches));
        }
        let types: Vec<DataType> =
            to_arrow(&self.merge.context.projection)?.fields().iter().map(|f| f.data_type().clone()).collect();
        let merged = SortedRuns::new(sources, self.merge.layout.clone(), &types).with("path", &self.merge.path)?;
        let levels = files.iter().map(|t| t.data_file.bucket_file.as_ref().map_or(0, |l| l.level)).collect();
        let paths = files.iter().map(|t| t.data_file.path.as_str().into()).collect();
        Ok(CompactedRows {
            plan: self,
            runs: Some(merged),
            inputs: runs.len(),
            levels,
            paths,
            members: Vec::new(),
            rows: CompactSink::default(),
            changelog: CompactSink::default(),
            deleted: Vec::new(),
        })
    }
}

/// The files of a run with their numbers.
fn tag(run: &[ScanTask], files: &mut Vec<Arc<ScanTask>>) -> Vec<(ScanTask, Option<i32>)> {
    let one = |task: &ScanTask| {
        files.push(Arc::new(task.clone()));
        (task.clone(), Some(files.len() as i32 - 1))
    };
    run.iter().map(one).collect()
}

/// How files above are read: their needed columns, and each row's place.
struct Above {
    context: Arc<ReadContext>,
    /// For each column of the other files, its place among the columns that are read.
    places: Vec<Option<usize>>,
    types: Vec<DataType>,
    layout: MergeLayout,
}

impl Above {
    fn new(plan: &CompactMerge, context: &ReadContext) -> Result<Above> {
        let all = &plan.merge.context.projection.fields;
        let types = to_arrow(&plan.merge.context.projection)?.fields().iter().map(|f| f.data_type().clone()).collect();
        let key = &plan.merge.layout.key;
        let read: Vec<usize> = (0..all.len()).filter(|at| plan.needs_values() || key.contains(at)).collect();
        let places = (0..all.len()).map(|at| read.iter().position(|r| *r == at)).collect();
        let position = metadata_column(POS).ok_or_else(|| Error::internal("rows have no places"))?;
        let fields = read.iter().filter_map(|at| all.get(*at).cloned()).chain([position]).collect();
        Ok(Above { context: file_context(context, fields), places, types, layout: plan.merge.layout.clone() })
    }

    /// Batches in the form of other files, followed by the rows' places. Values that are not read are null. If kinds
    /// are not read, all rows are added. If sequence numbers are not read, the rows come before all others.
    fn padded(&self, batches: Batches) -> Batches {
        let (places, types, layout) = (self.places.clone(), self.types.clone(), self.layout.clone());
        Box::new(batches.map(move |batch| {
            let batch = batch?;
            let column =
                |at: usize| batch.columns().get(at).cloned().ok_or_else(|| Error::internal("a column is missing"));
            let mut columns = Vec::with_capacity(places.len() + 2);
            let rows = batch.num_rows();
            for (i, (place, ty)) in places.iter().zip(&types).enumerate() {
                columns.push(match place {
                    Some(at) => column(*at)?,
                    None if i == layout.kind => Arc::new(Int32Array::from_value(INSERT, rows)),
                    None if layout.sequence == Some(i) => Arc::new(Int64Array::from_value(0, rows)),
                    None => new_null_array(ty, rows),
                });
            }
            let width = batch.num_columns();
            columns.extend([column(width.saturating_sub(1))?, column(width.saturating_sub(2))?]);
            let names = (0..columns.len()).map(|i| i.to_string());
            RecordBatch::try_from_iter_with_nullable(names.zip(columns).map(|(name, c)| (name, c, true)))
                .map_err(|e| Error::internal("rows that are looked up are no batch").because(e))
        }))
    }
}

/// The rows that are being built.
#[derive(Default)]
struct CompactSink {
    /// The picks of each column, or one for all columns.
    values: Vec<Picks>,
    sequence: Picks,
    kind: Picks,
}

impl CompactSink {
    fn new(width: usize) -> CompactSink {
        CompactSink { values: std::iter::repeat_with(Picks::default).take(width).collect(), ..CompactSink::default() }
    }

    fn len(&self) -> usize {
        self.kind.rows()
    }

    fn push_rows(&mut self, slot: u32, start: u32, rows: u32) {
        self.values.iter_mut().chain([&mut self.sequence]).for_each(|p| p.push_rows(slot, start, rows));
        self.kind.push_rows(slot, start, rows);
    }

    /// Adds a row. It gets `kind` if that is given.
    fn push(&mut self, row: &MergeOutcome, kind: Option<i32>) {
        let kind_value = |kind: i32| MergedValue::computed(Some(Value::Int(kind)));
        match row {
            MergeOutcome::Row(place) => {
                self.values.iter_mut().for_each(|p| p.push_rows(place.slot, place.row, 1));
                self.sequence.push(MergedValue::At(*place));
                self.kind.push(kind.map_or(MergedValue::At(*place), kind_value));
            }
            MergeOutcome::Made(row) => {
                self.values.iter_mut().zip(&row.columns).for_each(|(p, held)| p.push(held.clone()));
                self.sequence
                    .push(row.latest.map_or_else(|| MergedValue::computed(Some(Value::Long(0))), MergedValue::At));
                self.kind.push(kind_value(kind.unwrap_or(if row.is_added { INSERT } else { DELETE })));
            }
        }
    }
}

/// The merged row of a key.
enum MergeOutcome {
    Row(RowPlace),
    Made(MergedRow),
}

/// Streams the merged rows of a section.
pub struct CompactedRows<'a> {
    plan: &'a CompactMerge,
    /// `None` after the end or an error.
    runs: Option<SortedRuns>,
    /// Runs that are compacted; the others are above.
    inputs: usize,
    /// Levels by the numbers of files.
    levels: Vec<i32>,
    paths: Vec<Arc<str>>,
    members: Vec<(usize, RowPlace)>,
    rows: CompactSink,
    changelog: CompactSink,
    deleted: Vec<(Arc<str>, u64)>,
}

impl CompactedRows<'_> {
    fn next_batch(&mut self) -> Result<Option<CompactionOutput>> {
        let Some(mut runs) = self.runs.take() else { return Ok(None) };
        let width = match &self.plan.merge.rows {
            RowMerge::Columns(columns) => columns.types.len(),
            _ => 1,
        };
        (self.rows, self.changelog) = (CompactSink::new(width), CompactSink::new(width));
        let most_live = 3 * runs.len() + 4;
        let mut members = std::mem::take(&mut self.members);
        loop {
            let rows = self.rows.len().max(self.changelog.len());
            if rows >= BATCH_ROWS || self.deleted.len() >= BATCH_ROWS || (runs.live.len() > most_live && rows > 0) {
                break;
            }
            if rows == 0 {
                runs.forget();
            }
            match runs.next(BATCH_ROWS, &mut members)? {
                MergeStep::End => break,
                MergeStep::Rows { run, .. } if run >= self.inputs => {}
                MergeStep::Rows { slot, start, rows, .. } => self.alone(&runs, slot, start, rows)?,
                MergeStep::Group if members.iter().all(|(run, _)| *run >= self.inputs) => {}
                MergeStep::Group => self.group(&runs, &members)?,
            }
        }
        self.members = members;
        let out = CompactionOutput {
            rows: self.batch(&runs, &self.rows)?,
            changelog: self.batch(&runs, &self.changelog)?,
            deleted: std::mem::take(&mut self.deleted),
        };
        let is_end = out.rows.num_rows() == 0 && out.changelog.num_rows() == 0 && out.deleted.is_empty();
        self.runs = (!is_end).then_some(runs);
        Ok((!is_end).then_some(out))
    }

    fn batch(&self, runs: &SortedRuns, sink: &CompactSink) -> Result<RecordBatch> {
        let (schema, rows) = (&self.plan.schema, sink.len());
        if rows == 0 {
            return Ok(RecordBatch::new_empty(schema.clone()));
        }
        let source = |at: usize| move |slot: u32| runs.live.get(slot as usize).and_then(|b| b.columns.get(at));
        let fields = &self.plan.merge.fields;
        let own = key_value_columns();
        let shared = match sink.values.as_slice() {
            [one] if fields.len() > 1 => Some((one, one.gather())),
            _ => None,
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len() + 2);
        for (at, field) in fields.iter().enumerate() {
            columns.push(match (&shared, sink.values.get(at)) {
                (Some((picks, gather)), _) => picks.array(gather, &field.ty, source(at))?,
                (None, Some(picks)) => picks.array(&picks.gather(), &field.ty, source(at))?,
                (None, None) => return Err(Error::internal("a column was not merged")),
            });
        }
        for (i, (picks, field)) in [&sink.sequence, &sink.kind].into_iter().zip(&own).enumerate() {
            columns.push(picks.array(&picks.gather(), &field.ty, source(fields.len() + i))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(|e| Error::internal("compacted rows are not an Arrow batch").because(e))
    }

    fn tag_column(&self) -> usize {
        self.plan.merge.layout.kind + 1
    }

    fn level(&self, runs: &SortedRuns, place: RowPlace) -> i32 {
        self.levels.get(runs.tag(place, self.tag_column()) as usize).copied().unwrap_or_default()
    }

    fn is_added(runs: &SortedRuns, place: RowPlace) -> bool {
        is_added(runs.live.get(place.slot as usize).map_or(0, |batch| batch.kind(place.row)))
    }

    fn adds(runs: &SortedRuns, row: &MergeOutcome) -> bool {
        match row {
            MergeOutcome::Row(place) => CompactedRows::is_added(runs, *place),
            MergeOutcome::Made(row) => row.is_added,
        }
    }

    /// Adds rows that are the only ones with their keys.
    fn alone(&mut self, runs: &SortedRuns, slot: u32, start: u32, rows: u32) -> Result<()> {
        let all_added = runs.live.get(slot as usize).is_some_and(|batch| batch.all_added);
        let level = self.level(runs, RowPlace { slot, row: start });
        let functions = matches!(self.plan.merge.rows, RowMerge::Columns(_));
        match self.plan.reduction {
            Reduction::Rows if all_added || !self.plan.drops_deletes => self.rows.push_rows(slot, start, rows),
            Reduction::SinceTop { top } if all_added => {
                self.rows.push_rows(slot, start, rows);
                if level != top {
                    let inserted = |row| self.changelog.push(&MergeOutcome::Row(RowPlace { slot, row }), Some(INSERT));
                    (start..start + rows).for_each(inserted);
                }
            }
            Reduction::Lookup { changelog, .. } if all_added && !functions && !(changelog && level == 0) => {
                self.rows.push_rows(slot, start, rows);
            }
            _ => {
                for row in start..start + rows {
                    self.group(runs, &[(0, RowPlace { slot, row })])?;
                }
            }
        }
        Ok(())
    }

    /// Merges the rows of a key.
    fn merged(&self, runs: &SortedRuns, members: &[(usize, RowPlace)]) -> Result<Option<MergeOutcome>> {
        let is_added = |place: &RowPlace| CompactedRows::is_added(runs, *place);
        let places = || members.iter().map(|(_, place)| *place);
        Ok(match &self.plan.merge.rows {
            RowMerge::Last { ignore_delete } => {
                places().rfind(|p| !ignore_delete || is_added(p)).map(MergeOutcome::Row)
            }
            RowMerge::First { ignore_delete } => {
                if !ignore_delete && !places().all(|p| is_added(&p)) {
                    return Err(Error::invalid("a row was deleted in a table that keeps the first rows")
                        .hint("Set 'ignore-delete' for the table"));
                }
                places().find(is_added).map(MergeOutcome::Row)
            }
            RowMerge::Columns(columns) => Some(MergeOutcome::Made(columns.merge_row(members, &runs.live)?)),
        })
    }

    /// The rows of a key, the oldest first.
    fn group(&mut self, runs: &SortedRuns, members: &[(usize, RowPlace)]) -> Result<()> {
        match self.plan.reduction {
            Reduction::Rows => {
                let row = match (members, self.plan.merge.by_level) {
                    ([(_, only)], _) => Some(MergeOutcome::Row(*only)),
                    (_, false) => self.merged(runs, members)?,
                    (_, true) => {
                        let high = self.high(runs, members);
                        self.merged(runs, &self.counted(runs, members, high))?
                    }
                };
                self.keep(runs, row);
                Ok(())
            }
            Reduction::SinceTop { top } => self.since_top(runs, members, top),
            Reduction::Lookup { changelog, vectors } => match self.plan.merge.rows {
                RowMerge::First { .. } => self.first(runs, members, changelog),
                _ => self.look_up(runs, members, changelog, vectors),
            },
        }
    }

    fn keep(&mut self, runs: &SortedRuns, row: Option<MergeOutcome>) {
        if let Some(row) = row
            && (!self.plan.drops_deletes || CompactedRows::adds(runs, &row))
        {
            self.rows.push(&row, None);
        }
    }

    /// The compacted row of the lowest level above 0.
    fn high(&self, runs: &SortedRuns, members: &[(usize, RowPlace)]) -> Option<RowPlace> {
        let inputs = members.iter().filter(|(run, _)| *run < self.inputs).map(|(_, p)| (self.level(runs, *p), *p));
        inputs.filter(|(level, _)| *level > 0).min_by_key(|(level, _)| *level).map(|(_, place)| place)
    }

    /// The rows that count: those of level 0, and `high`, which was merged from the older ones.
    fn counted(
        &self,
        runs: &SortedRuns,
        members: &[(usize, RowPlace)],
        high: Option<RowPlace>,
    ) -> Vec<(usize, RowPlace)> {
        let counts = |(run, place): &&(usize, RowPlace)| {
            Some(*place) == high || *run < self.inputs && self.level(runs, *place) <= 0
        };
        members.iter().filter(counts).copied().collect()
    }

    fn since_top(&mut self, runs: &SortedRuns, members: &[(usize, RowPlace)], top: i32) -> Result<()> {
        let before = members.iter().map(|(_, p)| *p).find(|p| self.level(runs, *p) == top);
        let row = match members {
            [(_, only)] => Some(MergeOutcome::Row(*only)),
            _ if self.plan.merge.by_level => {
                let high = self.high(runs, members);
                self.merged(runs, &self.counted(runs, members, high))?
            }
            _ => self.merged(runs, members)?,
        };
        let Some(row) = row else { return Ok(()) };
        match (members.len(), before) {
            (1, Some(_)) => {}
            (_, before) => self.log(runs, before, Some(&row))?,
        }
        if CompactedRows::adds(runs, &row) {
            self.rows.push(&row, None);
        }
        Ok(())
    }

    /// Reports changes.
    fn log(&mut self, runs: &SortedRuns, before: Option<RowPlace>, after: Option<&MergeOutcome>) -> Result<()> {
        let before = before.filter(|place| CompactedRows::is_added(runs, *place)).map(MergeOutcome::Row);
        let after = after.filter(|row| CompactedRows::adds(runs, row));
        match (&before, after) {
            (None, None) => {}
            (None, Some(after)) => self.changelog.push(after, Some(INSERT)),
            (Some(before), None) => self.changelog.push(before, Some(DELETE)),
            (Some(before), Some(after)) => {
                if !self.same(runs, before, after)? {
                    self.changelog.push(before, Some(UPDATE_BEFORE));
                    self.changelog.push(after, Some(UPDATE_AFTER));
                }
            }
        }
        Ok(())
    }

    /// Whether a change has no difference. False if differences are not compared.
    fn same(&self, runs: &SortedRuns, before: &MergeOutcome, after: &MergeOutcome) -> Result<bool> {
        let Some(compared) = &self.plan.compared else { return Ok(false) };
        for at in compared {
            let Some(field) = self.plan.merge.fields.get(*at) else { continue };
            let (a, b) = (value_of(runs, before, *at, &field.ty)?, value_of(runs, after, *at, &field.ty)?);
            let equal = match (a, b) {
                (Some(a), Some(b)) => a.to_data() == b.to_data(),
                (a, b) => a.is_none_or(|a| a.is_null(0)) && b.is_none_or(|b| b.is_null(0)),
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn first(&mut self, runs: &SortedRuns, members: &[(usize, RowPlace)], changelog: bool) -> Result<()> {
        let inputs: Vec<(usize, RowPlace)> = members.iter().filter(|(run, _)| *run < self.inputs).copied().collect();
        let is_above = inputs.len() < members.len();
        let is_known = inputs.iter().any(|(_, p)| CompactedRows::is_added(runs, *p) && self.level(runs, *p) > 0);
        let Some(row) = self.merged(runs, &inputs)? else { return Ok(()) };
        if is_above && !is_known {
            return Ok(());
        }
        if changelog && !is_known {
            self.changelog.push(&row, None);
        }
        self.keep(runs, Some(row));
        Ok(())
    }

    fn look_up(
        &mut self,
        runs: &SortedRuns,
        members: &[(usize, RowPlace)],
        changelog: bool,
        vectors: bool,
    ) -> Result<()> {
        let inputs = members.iter().filter(|(run, _)| *run < self.inputs);
        // Ignored delete rows delete nothing, above or below.
        if let RowMerge::Last { ignore_delete: true } = &self.plan.merge.rows
            && !inputs.clone().any(|(_, place)| CompactedRows::is_added(runs, *place))
        {
            return Ok(());
        }
        let has_new = inputs.clone().any(|(_, place)| self.level(runs, *place) == 0);
        let mut high = self.high(runs, members);
        let above = members.iter().filter(|(run, _)| *run >= self.inputs).min_by_key(|(run, _)| *run);
        if let (None, Some((_, above))) = (high, above) {
            if vectors {
                let path = self.paths.get(runs.tag(*above, self.tag_column()) as usize);
                let path = path.ok_or_else(|| Error::internal("a row has no source file"))?.clone();
                self.deleted.push((path, position(runs, *above, self.tag_column() + 1)?));
            }
            high = self.plan.needs_values().then_some(*above);
        }
        let row = self.merged(runs, &self.counted(runs, members, high))?;
        if has_new && changelog {
            self.log(runs, high, row.as_ref())?;
        }
        self.keep(runs, row);
        Ok(())
    }
}

/// The place of a row in its file.
fn position(runs: &SortedRuns, place: RowPlace, column: usize) -> Result<u64> {
    let batch = runs.live.get(place.slot as usize);
    let places = batch.and_then(|b| b.columns.get(column)).and_then(|c| c.as_primitive_opt::<Int64Type>());
    let position = places.and_then(|p| p.values().get(place.row as usize)).and_then(|p| u64::try_from(*p).ok());
    position.ok_or_else(|| Error::internal("a row has no place in its file"))
}

/// The value of a row in a column, as an array of one row; `None` for null.
fn value_of(runs: &SortedRuns, row: &MergeOutcome, column: usize, ty: &Type) -> Result<Option<ArrayRef>> {
    let at = |place: &RowPlace| {
        let batch = runs.live.get(place.slot as usize)?;
        batch.columns.get(column).map(|c| c.slice(place.row as usize, 1))
    };
    Ok(match row {
        MergeOutcome::Row(place) => at(place),
        MergeOutcome::Made(row) => match row.columns.get(column) {
            Some(MergedValue::At(place)) => at(place),
            Some(MergedValue::Computed(Computed::Row(array))) => Some(array.clone()),
            Some(MergedValue::Computed(Computed::Value(value))) => match ty.as_primitive() {
                Some(ty) => Some(array_of(vec![Some(value.clone())], ty)?),
                None => None,
            },
            Some(MergedValue::Null) | None => None,
        },
    })
}

impl Iterator for CompactedRows<'_> {
    type Item = Result<CompactionOutput>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(|e| e.with("path", &self.plan.merge.path)).transpose()
    }
}
