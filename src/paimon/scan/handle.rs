//! Scans of tables of Apache Paimon: immutable descriptions of what to read, planned and read lazily.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::read::read_ahead::{ScanReader, TaskSource, source_of};
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::estimate::Estimate;
use crate::format::splits::SplitRequest;
use crate::format::task::{ReadContext, ScanTask, Split};
use crate::paimon::plan::changes::plan_changes;
use crate::paimon::plan::estimate::estimate;
use crate::paimon::plan::input::PaimonPlanInput;
use crate::paimon::plan::planned::{PaimonPlan, PlannedSplit};
use crate::paimon::plan::planner::plan;
use crate::paimon::plan::travel::{Between, ScanVersion};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::parallel::{CountedPlan, Phase, PlanMetrics, begin_phase, check_cancelled};
use crate::rows::plan_table;
use crate::rows::shape::ScanShape;
use crate::rows::stream::{BatchStream, StreamRequest};
use crate::types::metadata_columns::{FILE, LINEAGE_COLUMNS, POS, metadata_column};
use crate::types::{Field, Schema};

/// The version or the changes that a scan reads.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    /// A version.
    Version(ScanVersion),
    /// The changes between two versions; `None` without changes.
    Changes(Option<Between>),
    /// The appended rows between two versions; `None` without new rows.
    Appended(Option<Between>),
}

impl Selection {
    /// The snapshot that is read, or the last one of the changes.
    pub(crate) fn snapshot(&self) -> Option<&Arc<PaimonSnapshot>> {
        match self {
            Selection::Version(place) => place.snapshot.as_ref(),
            Selection::Changes(between) | Selection::Appended(between) => between.as_ref().map(|b| &b.end),
        }
    }
}

/// A scan of a table. Immutable and cheap to clone; does nothing until planned or read.
#[derive(Clone, Debug)]
pub struct PaimonScan {
    /// The table, on the branch that is read.
    pub(crate) table: PaimonTable,
    /// The schema that rows have.
    pub(crate) schema: Arc<TableSchema>,
    /// A version, or the changes between two versions.
    pub(crate) selection: Selection,
    pub(crate) shape: ScanShape,
    /// The table's options, overridden by those of the scan.
    pub(crate) options: Arc<BTreeMap<String, String>>,
    /// Whether files are seen that scans leave out until they are compacted.
    pub(crate) every_level: bool,
}

impl PaimonScan {
    /// Keeps only rows that this filter keeps as well.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema; `Unsupported` for the place of a row in several files.
    pub fn filter(&self, predicate: Predicate) -> Result<PaimonScan> {
        let shape = self.shape.filter(predicate)?;
        check_places(&self.schema, &shape)?;
        Ok(PaimonScan { shape, ..self.clone() })
    }

    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    pub fn select(&self, columns: &[String]) -> Result<PaimonScan> {
        Ok(PaimonScan { shape: self.shape.select(columns)?, ..self.clone() })
    }

    /// Reads at most this number of rows.
    pub fn limit(&self, rows: usize) -> PaimonScan {
        PaimonScan { shape: self.shape.limit(rows), ..self.clone() }
    }

    /// Sees files that scans leave out until they are compacted.
    #[must_use]
    pub(crate) fn of_every_level(self) -> PaimonScan {
        PaimonScan { every_level: true, ..self }
    }

    /// The context that tasks of this scan share.
    pub fn context(&self) -> &Arc<ReadContext> {
        &self.shape.context
    }

    /// The filter, for changes with its questions about their own columns.
    pub fn whole_filter(&self) -> BoundPredicate {
        self.shape.whole_filter()
    }

    /// The snapshot that is read; `None` for an empty table.
    pub fn snapshot_id(&self) -> Option<i64> {
        self.shape.context.snapshot_id
    }

    /// Whether the rows are those that changed.
    pub fn is_of_changes(&self) -> bool {
        self.shape.of_changes()
    }

    /// Refuses a feature that only scans of one version have.
    ///
    /// # Errors
    /// `Unsupported` for a scan of the changes between two versions.
    pub(crate) fn check_of_version(&self, what: &str) -> Result<()> {
        match self.selection {
            Selection::Version(_) => Ok(()),
            _ => {
                let what = format!("a scan of the changes of an Apache Paimon table has no {what}");
                Err(Error::unsupported(what).hint("Use a scan of one version: table.scan()"))
            }
        }
    }

    /// The input of planning.
    pub(crate) fn plan_input(&self) -> PaimonPlanInput {
        let metadata = self.table.metadata();
        let read = self.shape.context.projection.fields.iter().map(|f| f.id);
        PaimonPlanInput {
            store: metadata.folder.store().clone(),
            root: metadata.folder.root().to_owned(),
            kept: self.table.kept_manifests().clone(),
            schemas: Arc::new(metadata.schemas.clone()),
            snapshot: self.selection.snapshot().cloned(),
            schema: self.schema.clone(),
            filter: self.shape.filter.clone(),
            options: self.options.clone(),
            projection: Some(read.collect()),
            files_since_ms: match &self.selection {
                Selection::Version(place) => place.files_since_ms,
                Selection::Changes(_) | Selection::Appended(_) => None,
            },
            every_level: self.every_level,
        }
    }

    pub(crate) fn plan(&self) -> Result<PaimonPlan> {
        let counted = CountedPlan::begin();
        let plan = self.planned().map_err(|e| self.expired(e))?;
        if let Some(counted) = counted {
            counted.end(PlanMetrics { counts: plan.counters.metrics(), cache: None });
        }
        Ok(plan)
    }

    /// Says why files may be missing.
    fn expired(&self, e: Error) -> Error {
        if e.kind() == ErrorKind::NotFound
            && let Err(replaced) = self.table.metadata().check_same_table()
            && replaced.kind() == ErrorKind::NotFound
        {
            return replaced.because(e);
        }
        if let Selection::Version(ScanVersion { snapshot: Some(snapshot), .. }) = &self.selection
            && e.kind() == ErrorKind::NotFound
            && matches!(self.table.folder().has_expired(snapshot.id), Ok(true))
        {
            return e.advise(format!(
                "Snapshot {} has expired, or an expiry of it has begun: read a later one",
                snapshot.id
            ));
        }
        e
    }

    fn planned(&self) -> Result<PaimonPlan> {
        let input = self.plan_input();
        let planned = match &self.selection {
            Selection::Version(_) => plan(&input),
            Selection::Changes(Some(between)) | Selection::Appended(Some(between)) => {
                plan_changes(&input, self.table.folder(), between)
            }
            Selection::Changes(None) | Selection::Appended(None) => Ok(PaimonPlan::default()),
        };
        input.kept.end_round();
        let mut plan = planned?;
        // Rows of a table with a key say themselves whether they came or went. In other tables, all rows that are
        // read came.
        if matches!(self.selection, Selection::Appended(_)) && !self.schema.has_primary_key() {
            plan.splits.iter_mut().flat_map(|split| &mut split.tasks).for_each(|task| task.change = None);
        }
        Ok(plan)
    }

    /// The tasks as readers take them: files that have to be merged are one.
    pub(crate) fn tasks(&self) -> Result<impl Iterator<Item = ScanTask> + use<>> {
        Ok(self.plan()?.splits.into_iter().flat_map(|split| split.tasks))
    }

    /// The tasks of single files, those of sections too.
    ///
    /// # Errors
    /// As [`plan`].
    pub(crate) fn files(&self) -> Result<Vec<ScanTask>> {
        Ok(self.plan()?.splits.into_iter().flat_map(PlannedSplit::into_files).collect())
    }

    /// Tasks, one for each file, in deterministic order.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn plan_files(&self) -> Result<TaskSource> {
        let mut files = self.plan()?.splits.into_iter().flat_map(PlannedSplit::into_files);
        Ok(Box::new(move || Ok(files.next())))
    }

    /// The tasks as Arrow batches; columns as in [`PaimonScan::plan_schema`].
    ///
    /// # Errors
    /// As [`plan`].
    pub fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        let plan = self.plan()?;
        let files: Vec<&ScanTask> = plan.splits.iter().flat_map(PlannedSplit::files).collect();
        Ok(vec![plan_table::encode_tasks(&files, self.is_of_changes())?])
    }

    /// The schema of [`PaimonScan::plan_table`].
    pub fn plan_schema(&self) -> SchemaRef {
        if self.is_of_changes() { plan_table::schema_of_changes() } else { plan_table::schema() }
    }

    /// The number of files.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn count_files(&self) -> Result<u64> {
        Ok(self.plan()?.counters.files_kept)
    }

    /// Splits, packed as Java packs them.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that are not positive; as [`plan`].
    pub fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        let scan = self.packed_by(request)?;
        let split = |tasks| Split { context: self.shape.context.clone(), tasks };
        Ok(scan.plan()?.splits.into_iter().map(|planned| split(planned.tasks)).collect())
    }

    /// The same scan, with the sizes of splits that a request asks for.
    fn packed_by(&self, request: SplitRequest) -> Result<PaimonScan> {
        let mut options = self.options.as_ref().clone();
        let sizes = [
            ("split_size_bytes", "source.split.target-size", request.split_size_bytes, 1),
            ("open_file_cost_bytes", "source.split.open-file-cost", request.open_file_cost_bytes, 0),
        ];
        for (name, option, size, least) in sizes {
            match size {
                Some(size) if size < least => {
                    return Err(Error::invalid(format!("{name} must be at least {least}, not {size}")));
                }
                Some(size) => options.insert(option.to_owned(), format!("{size} b")),
                None => None,
            };
        }
        Ok(PaimonScan { options: Arc::new(options), ..self.clone() })
    }

    /// The table, on the branch that is read.
    pub(crate) fn table(&self) -> &PaimonTable {
        &self.table
    }

    /// The schema that rows have.
    pub(crate) fn table_schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// The most rows to read.
    pub(crate) fn row_limit(&self) -> Option<u64> {
        self.shape.limit.map(|limit| limit as u64)
    }

    /// The parts for finding columns: the context, the columns that can be named, and whether names must be exact.
    pub(crate) fn named_columns(&self) -> (&ReadContext, &Schema, bool) {
        (&self.shape.context, self.shape.all_columns(), self.shape.case_sensitive)
    }

    /// The estimated cost of planning, by the manifest lists alone.
    ///
    /// # Errors
    /// `Unsupported` for change logs; as [`estimate`].
    pub fn estimate(&self) -> Result<Estimate> {
        self.check_of_version("estimate")?;
        let found = estimate(&self.plan_input())?;
        Ok(Estimate {
            bytes: found.opened.bytes,
            data_manifests: found.opened.manifests,
            delete_manifests: u64::from(found.index_manifest),
            total_bytes: found.listed.bytes,
            total_manifests: found.listed.manifests.saturating_add(u64::from(found.index_manifest)),
            data_files: Some(found.most_files),
            rows: found.rows,
            at_most: true,
            ..Estimate::default()
        })
    }

    /// The snapshot that is read.
    pub(crate) fn snapshot(&self) -> Option<&Arc<PaimonSnapshot>> {
        self.selection.snapshot()
    }

    /// Reads these columns of the scan's schema, from tasks that the scan gave. Ids of rows may be among the columns.
    /// The positions of rows follow the columns.
    pub(crate) fn placed_reader(&self, columns: &[Field]) -> ScanReader {
        let own = &self.shape.context.schema;
        let schema = |fields: Vec<Field>| Arc::new(Schema::new(own.id, fields, Vec::new()));
        let more = LINEAGE_COLUMNS.into_iter().chain([POS]).filter_map(metadata_column);
        let context = ReadContext {
            schema: schema(own.fields.iter().cloned().chain(more).collect()),
            projection: schema(columns.iter().cloned().chain(metadata_column(POS)).collect()),
            ..self.shape.context.as_ref().clone()
        };
        self.scan_reader(Arc::new(context))
    }

    fn scan_reader(&self, context: Arc<ReadContext>) -> ScanReader {
        ScanReader { store: self.table.folder().store().clone(), context, deletes: Arc::default() }
    }

    /// The rows, one batch at a time: files are opened as the stream is read, by threads that keep a few batches ahead.
    ///
    /// # Errors
    /// As [`plan`] and [`crate::data::read::task::read_task`].
    pub fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        let tasks = self.tasks()?.collect();
        let reader = self.scan_reader(self.shape.context.clone());
        BatchStream::new(reader, source_of(tasks), request, self.shape.limit)
    }

    /// The number of rows. It comes from metadata for files whose rows all match the filter, if they need no merging
    /// and their deletes are counted. Other files are read, with only the needed columns. Checks for cancellation
    /// between batches.
    ///
    /// # Errors
    /// As [`PaimonScan::read`]; a cancellation.
    pub fn count(&self) -> Result<u64> {
        let most = self.shape.limit.map_or(u64::MAX, |l| l as u64);
        let (mut counted, mut rest) = (0u64, Vec::new());
        for task in self.tasks()? {
            match self.known_rows(&task) {
                Some(rows) => counted = counted.saturating_add(rows),
                None => rest.push(task),
            }
        }
        if counted >= most || rest.is_empty() {
            return Ok(counted.min(most));
        }
        let nothing = Arc::new(Schema::new(self.shape.context.schema.id, Vec::new(), Vec::new()));
        let context = Arc::new(ReadContext { projection: nothing, ..self.shape.context.as_ref().clone() });
        let _phase = begin_phase(Phase::Reading, 0);
        let reader = self.scan_reader(context);
        let mut rows = BatchStream::new(reader, source_of(rest), StreamRequest::default(), None)?;
        while counted < most {
            let Some(batch) = rows.next_batch()? else { break };
            check_cancelled()?;
            counted = counted.saturating_add(batch.num_rows() as u64);
        }
        Ok(counted.min(most))
    }

    /// The number of rows of a task, if metadata has it.
    pub(crate) fn known_rows(&self, task: &ScanTask) -> Option<u64> {
        let whole = task.merge.is_none() && task.change.is_none() && *task.residual == BoundPredicate::True;
        let deleted = task.deletes.iter().map(|d| d.file.record_count).fold(0, i64::saturating_add);
        let known = whole && *self.shape.context.change_filter == BoundPredicate::True;
        // The number of deleted rows is not recorded by old writers.
        let told = task.deletes.iter().all(|d| d.file.record_count >= 0);
        (known && told).then(|| u64::try_from(task.data_file.record_count.saturating_sub(deleted)).ok()).flatten()
    }
}

/// Refuses filters by the place of a row whose columns are in several files: each file has its own place.
pub(super) fn check_places(schema: &TableSchema, shape: &ScanShape) -> Result<()> {
    let named = || shape.filter.field_ids().into_iter().any(|id| [FILE, POS].contains(&id));
    match schema.options().data_evolution()? && named() {
        false => Ok(()),
        true => Err(PAIMON
            .lacks("filters by _file and _pos of tables with 'data-evolution.enabled'")
            .hint("Filter by _row_id")),
    }
}
