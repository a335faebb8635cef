//! Scans: immutable descriptions of reads, planned and read lazily.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::read::read_ahead::{Ahead, ReadAhead, ScanReader};
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::request::ScanRequest;
use crate::format::splits;
use crate::format::splits::SplitPlan;
use crate::format::splits::SplitRequest;
use crate::format::task::{ReadContext, ScanTask, Split};
use crate::iceberg::manifest::read_budget::ReadBudget;
use crate::iceberg::plan::changes::{AnyPlan, ChangesPlan, plan_appends};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::plan_cache::cache::PlanCache;
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::scan::history;
use crate::iceberg::scan::history::History;
use crate::iceberg::scan::plan_table::PlanEncoder;
use crate::iceberg::scan::served::PlannedScan;
use crate::iceberg::scan::version::version;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::rows::column_statistics::Coverage;
use crate::rows::plan_table;
use crate::rows::scan_options::ScanOptions;
use crate::rows::shape::ScanShape;
use crate::rows::stream::{BatchStream, StreamRequest};
use crate::store::credentials::current_options;
use crate::store::{Store, open_store};
use crate::types::{Schema, select};

/// The description of a read of a table. Immutable and cheap to clone; does nothing until planned or read.
#[derive(Clone, Debug)]
pub struct IcebergScan {
    table: IcebergTable,
    snapshot: Option<Arc<Snapshot>>,
    history: History,
    shape: ScanShape,
    options: Arc<BTreeMap<String, String>>,
    max_plan_bytes: Option<u64>,
    plan_cache: Option<Arc<PlanCache>>,
    /// Whether tasks have all deletes of their files, not only those that the filter may reach.
    all_deletes: bool,
    /// The store of the files, if it is not that of the table.
    granted: Option<Arc<dyn Store>>,
}

impl IcebergTable {
    /// A lazy scan.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist. `InvalidInput` for a wrong filter, column or option, or if `at`
    /// is not a descendant of `since`.
    pub fn scan(&self, request: ScanRequest) -> Result<IcebergScan> {
        IcebergScan::new(self, request)
    }
}

impl IcebergScan {
    pub(crate) fn new(table: &IcebergTable, request: ScanRequest) -> Result<IcebergScan> {
        let metadata = &table.inner.metadata;
        let (snapshot, schema) = version(metadata, request.at.as_ref())?;
        let options = ScanOptions::parse(&request.options)?;
        let history = History::new(metadata, &request, snapshot.as_deref())?;
        let all = metadata.schemas.iter().map(Arc::as_ref);
        let context = ReadContext {
            projection: history.default_columns(&schema)?,
            dropped: select::dropped(&schema, all).into(),
            change_filter: Arc::new(BoundPredicate::True),
            schema: schema.clone(),
            snapshot_id: snapshot.as_ref().map(|s| s.id),
            location: table.inner.location.clone(),
            storage_options: current_options(&table.inner.storage_options, table.location()),
            name_mapping: metadata.properties.get("schema.name-mapping.default").cloned(),
            keep_deleted: false,
            batch_rows: options.batch_rows,
            buckets: None,
        };
        let all = history.all_columns(&schema, metadata);
        let of_changes = matches!(history, History::Changes(_));
        let shape = ScanShape::new(context, all, options.case_sensitive, of_changes);
        Ok(IcebergScan {
            table: table.clone(),
            snapshot,
            history,
            shape: shape.with(request.filter, request.select)?,
            options: Arc::new(request.options),
            max_plan_bytes: options.max_plan_bytes,
            plan_cache: options.plan_cache.map(plan_cache).transpose()?,
            all_deletes: false,
            granted: None,
        })
    }

    /// Tasks get the deletes of all rows of their files, even of rows that the filter drops: rewriting a file writes
    /// those rows too.
    pub(crate) fn with_all_deletes(self) -> IcebergScan {
        // The cache has no such plans.
        IcebergScan { all_deletes: true, plan_cache: None, ..self }
    }

    /// Keeps only rows that this filter keeps as well.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    pub fn filter(&self, predicate: Predicate) -> Result<IcebergScan> {
        Ok(IcebergScan { shape: self.shape.filter(predicate)?, ..self.clone() })
    }

    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    pub fn select(&self, columns: &[String]) -> Result<IcebergScan> {
        Ok(IcebergScan { shape: self.shape.select(columns)?, ..self.clone() })
    }

    /// The columns that can be selected.
    pub(crate) fn all_columns(&self) -> &Arc<Schema> {
        self.shape.all_columns()
    }

    /// Reads at most this number of rows.
    pub fn limit(&self, rows: usize) -> IcebergScan {
        IcebergScan { shape: self.shape.limit(rows), ..self.clone() }
    }

    /// The rows' schema.
    pub fn projection(&self) -> &Arc<Schema> {
        &self.shape.context.projection
    }

    /// The context that all tasks of this scan share.
    pub fn context(&self) -> &Arc<ReadContext> {
        &self.shape.context
    }

    /// The filter, for changes with its questions about their own columns.
    pub fn whole_filter(&self) -> BoundPredicate {
        self.shape.whole_filter()
    }

    /// The snapshot that is read; `None` for an empty table.
    pub fn snapshot_id(&self) -> Option<i64> {
        self.snapshot.as_ref().map(|s| s.id)
    }

    /// The plan, by the catalog's server if it plans the table's scans.
    pub(crate) fn plan(&self, column_metrics: bool) -> Result<AnyPlan> {
        Ok(self.begun(column_metrics)?.1)
    }

    /// The plan as [`IcebergScan::plan`] makes it, and the scan that reads its files.
    pub(crate) fn begun(&self, column_metrics: bool) -> Result<(IcebergScan, AnyPlan)> {
        let planned = self.planned_scan(column_metrics);
        match planned.served()? {
            Some(begun) => Ok((self.with_granted(begun.granted), AnyPlan::Served(Box::new(begun.plan)))),
            None => Ok((self.clone(), planned.reported(self.own_plan(column_metrics)?))),
        }
    }

    /// The scan, as far as its plan depends on it.
    pub(crate) fn planned_scan(&self, column_metrics: bool) -> PlannedScan<'_> {
        let input = PlanInput { column_metrics, ..self.plan_input() };
        PlannedScan { table: &self.table, history: &self.history, context: &self.shape.context, input }
    }

    /// The scan that reads files of a plan.
    fn with_granted(&self, granted: Option<(Arc<dyn Store>, ReadContext)>) -> IcebergScan {
        let mut scan = self.clone();
        if let Some((store, context)) = granted {
            scan.granted = Some(store);
            scan.shape.context = Arc::new(context);
        }
        scan
    }

    /// The plan that this process makes.
    fn own_plan(&self, column_metrics: bool) -> Result<AnyPlan> {
        let input = PlanInput { column_metrics, ..self.plan_input() };
        Ok(match &self.history {
            History::None => AnyPlan::Files(Box::new(RunningPlan::start(input)?)),
            History::Appends(snapshots) => AnyPlan::Files(Box::new(plan_appends(input, snapshots)?)),
            History::Changes(snapshots) => AnyPlan::Changes(Box::new(ChangesPlan::new(input, snapshots))),
        })
    }

    /// The input of the plan, for a scan of one version.
    ///
    /// # Errors
    /// `Unsupported` for scans of changes between versions.
    pub(crate) fn version_input(&self) -> Result<PlanInput> {
        match self.history {
            History::None => Ok(self.plan_input()),
            _ => Err(Error::unsupported(
                "scans of what happened between versions have no plan in parts, and change logs no statistics",
            )
            .with("table", &self.table.inner.metadata.location)
            .hint("plan_table() lists what is read, plan() packs it for readers")),
        }
    }

    /// The filter, bound to the version's columns.
    pub(crate) fn bound_filter(&self) -> &Arc<BoundPredicate> {
        &self.shape.filter
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Whether the rows are changes.
    pub fn is_of_changes(&self) -> bool {
        matches!(self.history, History::Changes(_))
    }

    /// Whether [`IcebergScan::version_input`] returns an input.
    pub fn is_of_version(&self) -> bool {
        matches!(self.history, History::None)
    }

    /// The input of the plan.
    pub(crate) fn plan_input(&self) -> PlanInput {
        PlanInput {
            store: self.store().clone(),
            location: self.shape.context.location.clone(),
            metadata: self.table.inner.metadata.clone(),
            snapshot: self.snapshot.clone(),
            schema: self.shape.context.schema.clone(),
            filter: self.shape.filter.clone(),
            entries: EntryScope::Live,
            column_metrics: false,
            all_deletes: self.all_deletes,
            metric_fields: Vec::new(),
            budget: Arc::new(ReadBudget::new(self.max_plan_bytes)),
            cache: self.plan_cache.clone(),
        }
    }

    /// The most rows to read.
    pub(crate) fn row_limit(&self) -> Option<u64> {
        self.shape.limit.map(|rows| rows as u64)
    }

    pub(crate) fn is_case_sensitive(&self) -> bool {
        self.shape.case_sensitive
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.granted.as_ref().unwrap_or(&self.table.inner.store)
    }

    /// Tasks, one for each file, in deterministic order. Their files have column metrics.
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn plan_files(&self) -> Result<IcebergTaskStream> {
        self.tasks(true)
    }

    pub(crate) fn tasks(&self, column_metrics: bool) -> Result<IcebergTaskStream> {
        Ok(IcebergTaskStream::of(self.plan(column_metrics)?))
    }

    /// The tasks as Arrow batches, without an object for each task; columns as in [`IcebergScan::plan_schema`].
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        let mut out = Vec::new();
        let mut plan = self.plan(false)?;
        let mut encoder = PlanEncoder::new(matches!(self.history, History::Changes(_)));
        while let Some(batch) = plan.next_batch()? {
            out.extend(encoder.push(&batch)?);
        }
        out.extend(encoder.finish()?);
        Ok(out)
    }

    /// The schema of [`IcebergScan::plan_table`].
    pub fn plan_schema(&self) -> SchemaRef {
        match &self.history {
            History::Changes(_) => plan_table::schema_of_changes(),
            _ => plan_table::schema(),
        }
    }

    /// The number of tasks.
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn count_files(&self) -> Result<u64> {
        Ok(self.plan_to_end()?.files_kept)
    }

    /// Plans, keeping only the counts.
    fn plan_to_end(&self) -> Result<PlanCounters> {
        let mut plan = self.plan(false)?;
        while plan.next_batch()?.is_some() {}
        Ok(plan.counters().clone())
    }

    /// Bin-packed splits, as Java packs them.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that are not positive; as [`RunningPlan::start`].
    pub fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        let packing = self.split_plan(request)?;
        let (scan, plan) = self.begun(false)?;
        scan.pack(IcebergTaskStream::of(plan).collect_all()?, &packing)
    }

    /// Splits of these tasks.
    pub(crate) fn pack(&self, tasks: Vec<ScanTask>, plan: &SplitPlan) -> Result<Vec<Split>> {
        let split = |mut tasks: Vec<ScanTask>| {
            tasks.shrink_to_fit(); // they are kept
            Split { context: self.shape.context.clone(), tasks }
        };
        Ok(splits::pack(tasks, plan)?.into_iter().map(split).collect())
    }

    pub(crate) fn split_plan(&self, request: SplitRequest) -> Result<SplitPlan> {
        request.or(&self.options, &self.table.inner.metadata.properties)
    }

    /// The rows, one batch at a time. Tasks are planned and files opened while the stream is read, by threads that stay
    /// a few batches ahead.
    ///
    /// # Errors
    /// Errors of [`RunningPlan::start`] and `read_task`.
    pub fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        let (scan, plan) = self.begun(false)?;
        let mut tasks = IcebergTaskStream::of(plan);
        BatchStream::new(scan.scan_reader(), Box::new(move || tasks.next_task()), request, self.shape.limit)
    }

    fn scan_reader(&self) -> ScanReader {
        ScanReader { store: self.store().clone(), context: self.shape.context.clone(), deletes: Arc::default() }
    }

    /// The number of rows. Metadata counts files whose rows all match, if only deletion vectors delete others. For
    /// other files, the columns of filter and deletes are read. Checks for cancellation between batches.
    ///
    /// # Errors
    /// As [`IcebergScan::read`]; a cancellation.
    pub fn count(&self) -> Result<u64> {
        let (scan, plan) = self.begun(false)?;
        let nothing = Arc::new(Schema::new(scan.shape.context.schema.id, Vec::new(), Vec::new()));
        let context = Arc::new(ReadContext { projection: nothing, ..scan.shape.context.as_ref().clone() });
        let most = self.shape.limit.map_or(u64::MAX, |l| l as u64);
        let reader = ScanReader { context: context.clone(), ..scan.scan_reader() };
        let counted = Arc::new(AtomicU64::new(0));
        let mut rest =
            Uncounted { plan, context, batch: PlannedBatch::default(), next: 0, counted: counted.clone(), most };
        let Some(first) = rest.next_task()? else { return Ok(counted.load(Ordering::Relaxed).min(most)) };
        let _phase = begin_phase(Phase::Reading, 0);
        let mut first = Some(first);
        let source = Box::new(move || match first.take() {
            Some(task) => Ok(Some(task)),
            None => rest.next_task(),
        });
        let batches = ReadAhead::new(reader, source, Ahead { ordered: false, few: false, all: false }, 0);
        let mut read = 0u64;
        let all = |read: u64| read.saturating_add(counted.load(Ordering::Relaxed));
        while all(read) < most {
            let Some(batch) = batches.next_batch()? else { break };
            check_cancelled()?;
            read += batch.num_rows() as u64;
        }
        Ok(all(read).min(most))
    }
}

/// The tasks of a scan whose rows metadata can't count. Metadata counts the rows of the others.
struct Uncounted {
    plan: AnyPlan,
    context: Arc<ReadContext>,
    batch: PlannedBatch,
    /// The next survivor of the batch.
    next: usize,
    counted: Arc<AtomicU64>,
    /// The number of rows at which counting may stop.
    most: u64,
}

impl Uncounted {
    fn next_task(&mut self) -> Result<Option<ScanTask>> {
        loop {
            let whole = history::keeps_all(&self.context, &self.batch);
            while self.next < self.batch.rows.len() {
                let k = self.next;
                self.next += 1;
                let rows = match Coverage::of(&self.batch, k)? {
                    Coverage::Whole(n) if whole => n,
                    Coverage::Vector(n) if whole && !self.context.keep_deleted => n,
                    _ => return self.batch.task(k).map(Some),
                };
                let before = self.counted.load(Ordering::Relaxed);
                self.counted.store(before.saturating_add(rows), Ordering::Relaxed);
                count_done(Unit::Bytes, self.batch.size_bytes(k));
            }
            if self.counted.load(Ordering::Relaxed) >= self.most {
                return Ok(None);
            }
            match self.plan.next_batch()? {
                Some(batch) => (self.batch, self.next) = (batch, 0),
                None => return Ok(None),
            }
        }
    }
}

/// Tasks as planning finds them, in deterministic order.
pub struct IcebergTaskStream {
    plan: AnyPlan,
    batch: PlannedBatch,
    next: usize,
}

impl IcebergTaskStream {
    /// The next task; `None` at the end. Checks for cancellation where planning takes time.
    ///
    /// # Errors
    /// As [`RunningPlan::next_batch`].
    pub fn next_task(&mut self) -> Result<Option<ScanTask>> {
        while self.next >= self.batch.rows.len() {
            match self.plan.next_batch()? {
                Some(batch) => (self.batch, self.next) = (batch, 0),
                None => return Ok(None),
            }
        }
        self.next += 1;
        self.batch.task(self.next - 1).map(Some)
    }

    pub(crate) fn of(plan: AnyPlan) -> IcebergTaskStream {
        IcebergTaskStream { plan, batch: PlannedBatch::default(), next: 0 }
    }

    pub(crate) fn collect_all(mut self) -> Result<Vec<ScanTask>> {
        let mut tasks = Vec::new();
        while let Some(task) = self.next_task()? {
            tasks.push(task);
        }
        Ok(tasks)
    }
}

impl Iterator for IcebergTaskStream {
    type Item = Result<ScanTask>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_task().transpose()
    }
}

/// Opens the cache of decoded manifests in a local folder.
fn plan_cache((folder, most_bytes): (String, u64)) -> Result<Arc<PlanCache>> {
    Ok(Arc::new(PlanCache::new(open_store(&folder, &BTreeMap::new())?, &folder, most_bytes)))
}
