//! A scan of any format, with accessors for operations that some formats lack.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::TaskSource;
use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::estimate::Estimate;
use crate::format::packed_splits::Splits;
use crate::format::splits::SplitRequest;
use crate::format::table_format::TableFormat;
use crate::format::task::{ReadContext, Split};
use crate::parallel::{Phase, begin_phase, check_cancelled};
use crate::rows::explanation::Explained;
use crate::rows::native_read::{NativeRead, NativeReadRequest};
use crate::rows::plan_table::{encode_tasks, schema, schema_of_changes};
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, StreamRequest};

/// A scan of a table of any format.
pub trait Scan: Send + Sync + Debug {
    /// The format of the table.
    fn format(&self) -> &'static TableFormat;
    /// Keeps only rows that this filter keeps as well.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    fn filter(&self, predicate: Predicate) -> Result<Box<dyn Scan>>;
    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    fn select(&self, columns: &[String]) -> Result<Box<dyn Scan>>;
    /// Reads at most this number of rows.
    fn limit(&self, rows: usize) -> Box<dyn Scan>;
    /// The context that the tasks of this scan share.
    fn context(&self) -> &Arc<ReadContext>;
    /// The filter, for changes with its questions about their own columns.
    fn whole_filter(&self) -> BoundPredicate;
    /// The snapshot that is read; `None` for an empty table.
    fn snapshot_id(&self) -> Option<i64>;
    /// Whether the rows are those that changed.
    fn is_of_changes(&self) -> bool {
        false
    }
    /// Tasks, one for each file, in a deterministic order.
    ///
    /// # Errors
    /// Those of planning.
    fn plan_files(&self) -> Result<TaskSource>;
    /// The tasks as Arrow batches without an object for each; columns as in [`Scan::plan_schema`].
    ///
    /// # Errors
    /// Those of planning.
    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        let mut next = self.plan_files()?;
        let tasks = std::iter::from_fn(|| next().transpose()).collect::<Result<Vec<_>>>()?;
        Ok(vec![encode_tasks(&tasks.iter().collect::<Vec<_>>(), self.is_of_changes())?])
    }
    /// The schema of [`Scan::plan_table`].
    fn plan_schema(&self) -> SchemaRef {
        if self.is_of_changes() { schema_of_changes() } else { schema() }
    }
    /// The number of tasks.
    ///
    /// # Errors
    /// Those of planning.
    fn count_files(&self) -> Result<u64> {
        let mut next = self.plan_files()?;
        let mut count = 0;
        while next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
    /// Splits, packed as the reference implementation packs them.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that are not positive; those of planning.
    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>>;
    /// The same in a compact form, if there are at least `pack_from` and the format can pack them.
    ///
    /// # Errors
    /// As [`Scan::splits`].
    fn splits_or_packed(&self, request: SplitRequest, _pack_from: usize) -> Result<Splits> {
        self.splits(request).map(Splits::Each)
    }
    /// The decisions of planning and their reasons.
    ///
    /// # Errors
    /// Those of planning.
    fn explain(&self, files: bool) -> Result<Explained>;
    /// The estimated cost of planning, without planning.
    ///
    /// # Errors
    /// Those of reading the manifest list.
    fn estimate(&self) -> Result<Estimate> {
        Err(self.format().refused("estimates"))
    }
    /// Counts and bounds of columns.
    ///
    /// # Errors
    /// `InvalidInput` for a column without statistics; those of planning.
    fn statistics(&self, _columns: &[String]) -> Result<Statistics> {
        Err(self.format().refused("statistics"))
    }
    /// The rows, one batch at a time.
    ///
    /// # Errors
    /// Those of planning and reading.
    fn read(&self, request: StreamRequest) -> Result<BatchStream>;
    /// The number of rows.
    ///
    /// # Errors
    /// As [`Scan::read`].
    fn count(&self) -> Result<u64> {
        let _phase = begin_phase(Phase::Reading, 0);
        let mut rows = self.read(StreamRequest::default())?;
        let mut count = 0u64;
        while let Some(batch) = rows.next_batch()? {
            check_cancelled()?;
            count = count.saturating_add(batch.num_rows() as u64);
        }
        Ok(count)
    }

    /// Reads by an engine's own Parquet reader.
    fn native_reads(&self) -> Option<&dyn NativeReads> {
        None
    }
    /// Plans in parts, for planners in other processes.
    fn parted_plans(&self) -> Option<&dyn PartedPlans> {
        None
    }
}

impl dyn Scan {
    /// The Arrow schema of the rows.
    ///
    /// # Errors
    /// `Unsupported` for a column with a type that has no Arrow form.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        to_arrow(&self.context().projection)
    }

    /// All rows, files read in parallel; batches in the order of the tasks.
    ///
    /// # Errors
    /// As [`Scan::read`]; a cancellation.
    pub fn read_all(&self) -> Result<Vec<RecordBatch>> {
        self.read(StreamRequest { ordered: true, all: true, ..StreamRequest::default() })?.collect_all()
    }
}

/// Files that an engine's own Parquet reader can read.
pub trait NativeReads {
    /// Plans, and decides for each file which reader takes it.
    ///
    /// # Errors
    /// Those of planning and of reading footers.
    fn native_read(&self, request: &NativeReadRequest, packing: SplitRequest) -> Result<NativeRead>;
}

/// Plans in parts.
pub trait PartedPlans {
    /// Whether this scan can be planned in parts.
    fn is_of_version(&self) -> bool;
    /// Whether the catalog's server plans this scan.
    ///
    /// # Errors
    /// Those of the catalog.
    fn is_served(&self) -> Result<bool> {
        Ok(false)
    }
    /// Parts of about `part_bytes` bytes of manifests; a single one if all have at most `whole_bytes`.
    ///
    /// # Errors
    /// `Unsupported` for scans of changes between versions; those of reading the manifest list.
    fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<Box<dyn PlanPart>>>;
    /// A split without tasks, which reads the tasks of others.
    fn reader(&self) -> Split;
    /// About how many splits this number of files gives.
    ///
    /// # Errors
    /// `InvalidInput` for split sizes that are not positive.
    fn estimate_splits(&self, files: u128) -> Result<u64>;
}

/// A share of the manifests of a plan.
pub trait PlanPart: Send + Sync + Debug {
    /// Bytes of its manifests.
    fn manifest_bytes(&self) -> u64;
    /// The most files that it can give.
    fn most_files(&self) -> u64;
    /// How many data manifests and delete manifests it has.
    fn manifest_counts(&self) -> (usize, usize);
    /// The splits of its files.
    ///
    /// # Errors
    /// Those of planning.
    fn splits(&self) -> Result<Vec<Split>>;
    /// Its tasks as Arrow batches; columns as in [`PlanPart::table_schema`].
    ///
    /// # Errors
    /// Those of planning.
    fn plan_table(&self) -> Result<Vec<RecordBatch>>;
    /// The schema of [`PlanPart::plan_table`].
    fn table_schema(&self) -> SchemaRef;
    /// The JSON from which any process can restore it.
    fn to_json(&self) -> String;
}
