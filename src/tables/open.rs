//! Tables and scans of either format: what a place turns out to hold, and what both formats can do.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use serde_json::Value as Json;

use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::TaskSource;
use crate::error::{Error, ErrorKind, Result};
use crate::expr::{Predicate, bind};
use crate::format::commit::CommitOptions;
use crate::format::estimate::Estimate;
use crate::format::evolution::Evolution;
use crate::format::request::{At, RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::row_change::RowChange;
use crate::format::splits::SplitRequest;
use crate::format::task::{CommitMessage, ReadContext, Split};
use crate::iceberg::inspect::tables;
use crate::iceberg::maintain::checks;
use crate::iceberg::scan::handle;
use crate::iceberg::scan::packed_splits::Splits;
use crate::iceberg::state;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::PaimonTable;
use crate::parallel::Cancellation;
use crate::rows::explanation::Explained;
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, StreamRequest};
use crate::store::{self, Store, location};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// A table of either format.
#[derive(Clone, Debug)]
pub enum Table {
    /// Of Apache Iceberg.
    Iceberg(state::Table),
    /// Of Apache Paimon.
    Paimon(PaimonTable),
}

impl From<state::Table> for Table {
    fn from(table: state::Table) -> Table {
        Table::Iceberg(table)
    }
}

/// A stream of rows.
type Rows = Box<dyn RecordBatchReader + Send>;

/// Paimon's rows have the order of their keys, or none, and no files of theirs are rewritten one by one.
fn check_how(how: &WriteOptions) -> Result<()> {
    if how.again {
        return Err(Error::unsupported("rewrites of files of tables of Apache Paimon by messages")
            .hint("maintain.compact() rewrites files"));
    }
    match how.sort_by.as_deref() {
        None | Some([]) => Ok(()),
        Some(_) => Err(Error::unsupported("sort_by: not with tables of Apache Paimon yet")),
    }
}

/// The same of a table of either format.
macro_rules! of_either {
    ($either:expr, $it:ident => $same:expr) => {
        match $either {
            Self::Iceberg($it) => $same,
            Self::Paimon($it) => $same,
        }
    };
}

impl Table {
    /// Opens what is at a place: a table's root folder or, of Iceberg, a metadata file. With `moved` its recorded paths are
    /// read below `location`, and it can't be written. A folder that is both (Paimon can keep Iceberg's metadata beside its
    /// own) is Paimon's.
    ///
    /// # Errors
    /// `NotFound` if there is no table; as [`state::Table::open`] and [`PaimonTable::open`].
    pub fn open(location: &str, storage_options: BTreeMap<String, String>, moved: bool) -> Result<Table> {
        let is_file = [".json", ".gz"].iter().any(|end| location.ends_with(end));
        let store = store::open_store(location, &storage_options)?;
        if !is_file && let Some(table) = paimon_at(&store, location, &storage_options)? {
            return Ok(Table::Paimon(table));
        }
        Ok(Table::Iceberg(state::Table::open_in(store, location, storage_options, moved)?))
    }

    /// The table as one of Iceberg, for a transaction.
    ///
    /// # Errors
    /// `Unsupported` if it is one of Paimon, whose snapshots have one kind of change each.
    pub fn for_transaction(&self) -> Result<&state::Table> {
        match self {
            Table::Iceberg(table) => Ok(table),
            Table::Paimon(table) => Err(Error::unsupported(
                "transactions: a commit of Apache Paimon makes one kind of change, and schemas, tags and rows are not published together",
            )
            .with("table", table.location())
            .hint("Several writes are one commit by table.writer() and table.commit([message, ...]); on a branch others see changes only after refs.fast_forward")),
        }
    }

    /// The table as one of Iceberg, for what is not done to others.
    ///
    /// # Errors
    /// `Unsupported` if it is one of Paimon.
    pub fn iceberg(&self, what: &str) -> Result<&state::Table> {
        match self {
            Table::Iceberg(table) => Ok(table),
            Table::Paimon(table) => Err(Error::unsupported(format!("{what}: not with tables of Apache Paimon yet"))
                .with("table", table.location())
                .hint("They can be scanned, and their snapshots listed")),
        }
    }

    /// `iceberg` or `paimon`.
    pub fn format(&self) -> &'static str {
        match self {
            Table::Iceberg(_) => "iceberg",
            Table::Paimon(_) => "paimon",
        }
    }

    /// The version of the format.
    pub fn format_version(&self) -> u8 {
        of_either!(self, t => t.format_version())
    }

    /// The table's recorded location.
    pub fn location(&self) -> &str {
        of_either!(self, t => t.location())
    }

    /// The metadata file that was read: of Paimon the schema file.
    pub fn metadata_location(&self) -> &str {
        of_either!(self, t => t.metadata_location())
    }

    /// The table's identity; empty where it has none.
    pub fn uuid(&self) -> &str {
        of_either!(self, t => t.uuid())
    }

    /// The current schema.
    pub fn schema(&self) -> &Arc<Schema> {
        of_either!(self, t => t.schema())
    }

    /// The partition spec that writers use.
    pub fn partition_spec(&self) -> Arc<PartitionSpec> {
        of_either!(self, t => t.partition_spec())
    }

    /// The sort order that writers use.
    pub fn sort_order(&self) -> Arc<SortOrder> {
        of_either!(self, t => t.sort_order())
    }

    /// Table properties (Paimon: options).
    pub fn properties(&self) -> BTreeMap<String, String> {
        of_either!(self, t => t.properties())
    }

    /// The current snapshot.
    ///
    /// # Errors
    /// The store's.
    pub fn snapshot(&self) -> Option<SnapshotInfo> {
        of_either!(self, t => t.snapshot())
    }

    /// All snapshots, oldest first.
    ///
    /// # Errors
    /// The store's; of Paimon, `CorruptTable` for a snapshot that is none.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        match self {
            Table::Iceberg(t) => Ok(t.snapshots()),
            Table::Paimon(t) => t.snapshots(),
        }
    }

    /// Branches and tags by name.
    ///
    /// # Errors
    /// As [`Table::snapshots`].
    pub fn refs(&self) -> Result<Vec<RefInfo>> {
        match self {
            Table::Iceberg(t) => Ok(t.refs()),
            Table::Paimon(t) => t.refs(),
        }
    }

    /// The newest version of the same table.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn refresh(&self) -> Result<Table> {
        Ok(match self {
            Table::Iceberg(t) => Table::Iceberg(t.refresh()?),
            Table::Paimon(t) => Table::Paimon(t.refresh()?),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// As [`state::Table::append_with`] and [`PaimonTable::append`].
    pub fn append(&self, rows: Rows, how: &WriteOptions, options: &CommitOptions) -> Result<Table> {
        match self {
            Table::Iceberg(t) => t.append_with(rows, how, options).map(Table::Iceberg),
            Table::Paimon(t) => {
                check_how(how)?;
                t.append(rows, options).map(Table::Paimon)
            }
        }
    }

    /// Changes rows in one commit.
    ///
    /// # Errors
    /// As [`state::Table::change_rows`] and [`PaimonTable::change_rows`].
    pub fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<Rows>,
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<Table> {
        match self {
            Table::Iceberg(t) => t.change_rows(change, rows, options, go_on).map(Table::Iceberg),
            Table::Paimon(t) => t.change_rows(change, rows, options, go_on).map(Table::Paimon),
        }
    }

    /// Changes the table's schema, properties or references in one commit.
    ///
    /// # Errors
    /// As [`state::Table::evolve`] and [`PaimonTable::evolve`].
    pub fn evolve(&self, evolutions: &[Evolution]) -> Result<Table> {
        Ok(match self {
            Table::Iceberg(t) => Table::Iceberg(t.evolve(evolutions)?),
            Table::Paimon(t) => Table::Paimon(t.evolve(evolutions)?),
        })
    }

    /// Writes rows into new files without committing.
    ///
    /// # Errors
    /// As [`state::Table::write_with`] and [`PaimonTable::write`].
    pub fn write(&self, rows: Rows, how: &WriteOptions) -> Result<CommitMessage> {
        match self {
            Table::Iceberg(t) => t.write_with(rows, how),
            Table::Paimon(t) => {
                check_how(how)?;
                t.write(rows, how.replaces)
            }
        }
    }

    /// Writes deletes by key or position without committing.
    ///
    /// # Errors
    /// As [`state::Table::write_delta`] and [`PaimonTable::write_delta`].
    pub fn write_delta(
        &self,
        change: &RowChange,
        rows: Rows,
        branch: Option<&str>,
        task: u64,
        go_on: Cancellation,
    ) -> Result<CommitMessage> {
        match self {
            Table::Iceberg(t) => t.write_delta(change, rows, branch, task, go_on),
            Table::Paimon(t) => t.write_delta(change, rows),
        }
    }

    /// Commits what writers wrote, in one snapshot.
    ///
    /// # Errors
    /// As [`state::Table::commit`] and [`PaimonTable::commit`].
    pub fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Table> {
        Ok(match self {
            Table::Iceberg(t) => Table::Iceberg(t.commit(messages, options)?),
            Table::Paimon(t) => Table::Paimon(t.commit(messages, options)?),
        })
    }

    /// Commits what writers wrote in the place of other rows.
    ///
    /// # Errors
    /// As [`state::Table::commit_overwrite`] and [`PaimonTable::commit_overwrite`].
    pub fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<Table> {
        Ok(match self {
            Table::Iceberg(t) => Table::Iceberg(t.commit_overwrite(change, messages, options, go_on)?),
            Table::Paimon(t) => Table::Paimon(t.commit_overwrite(change, messages, options)?),
        })
    }

    /// Refuses an overwrite by messages that can't be committed whatever they are.
    ///
    /// # Errors
    /// `InvalidInput` if its filter does not fit the table; `Unsupported` as [`PaimonTable::commit_overwrite`].
    pub fn check_overwrite(&self, change: &RowChange) -> Result<()> {
        match (self, change) {
            (Table::Paimon(t), _) => t.check_overwrite(change).map(drop),
            (Table::Iceberg(t), RowChange::Overwrite(filter)) => bind(filter, t.schema(), true).map(drop),
            (Table::Iceberg(_), _) => Ok(()),
        }
    }

    /// Removes the files of messages that are given up.
    ///
    /// # Errors
    /// As [`state::Table::abort`] and [`PaimonTable::abort`].
    pub fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        of_either!(self, t => t.abort(messages))
    }

    /// The root folder that commits go to.
    ///
    /// # Errors
    /// As [`state::Table::writable_location`].
    pub fn writable_location(&self) -> Result<&str> {
        match self {
            Table::Iceberg(t) => t.writable_location(),
            Table::Paimon(t) => Ok(t.location()),
        }
    }

    /// A lazy scan.
    ///
    /// # Errors
    /// As [`state::Table::scan`].
    pub fn scan(&self, request: ScanRequest) -> Result<Scan> {
        Ok(match self {
            Table::Iceberg(t) => Scan::Iceberg(Box::new(t.scan(request)?)),
            Table::Paimon(t) => Scan::Paimon(Box::new(t.scan(request)?)),
        })
    }

    /// Runs one action of maintenance; arguments and result are JSON.
    ///
    /// # Errors
    /// As [`checks::maintain`] and [`PaimonTable::maintain`].
    pub fn maintain(&self, action: &str, arguments: &str, go_on: Cancellation) -> Result<(Table, String)> {
        match self {
            Table::Iceberg(t) => checks::maintain(t, action, arguments, go_on).map(|(t, done)| (t.into(), done)),
            Table::Paimon(t) => t.maintain(action, arguments, go_on).map(|(t, done)| (Table::Paimon(t), done)),
        }
    }

    /// A metadata table by its name.
    ///
    /// # Errors
    /// As [`tables::inspect`].
    pub fn inspect(
        &self,
        name: &str,
        at: Option<&At>,
        go_on: Cancellation,
    ) -> Result<crate::rows::metadata_rows::Rows> {
        match self {
            Table::Iceberg(t) => tables::inspect(t, tables::MetadataTable::parse(name)?, at, go_on),
            Table::Paimon(t) => crate::paimon::inspect::tables::inspect(t, name, at, go_on),
        }
    }

    /// The JSON from which [`Table::from_json`] opens the same version again, in another process too.
    pub fn to_json(&self) -> String {
        of_either!(self, t => t.to_json())
    }

    /// See [`Table::to_json`].
    ///
    /// # Errors
    /// `InvalidInput` if the text is not that; as [`Table::open`].
    pub fn from_json(text: &str) -> Result<Table> {
        let j: Json =
            serde_json::from_str(text).map_err(|e| Error::invalid("this is no JSON of a table").because(e))?;
        Ok(match j.get("format").and_then(Json::as_str) {
            Some("paimon") => Table::Paimon(PaimonTable::from_json(&j)?),
            _ => Table::Iceberg(state::Table::from_json(text)?),
        })
    }
}

/// The table of Paimon in a folder. One who may not look for it, but only get files by name, has none.
fn paimon_at(
    store: &Arc<dyn Store>,
    location: &str,
    storage_options: &BTreeMap<String, String>,
) -> Result<Option<PaimonTable>> {
    match PaimonTable::find(store, &location::absolute(location)?, storage_options) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(None),
        found => found,
    }
}

/// A scan of a table of either format.
#[derive(Clone, Debug)]
pub enum Scan {
    /// Of Apache Iceberg.
    Iceberg(Box<handle::Scan>),
    /// Of Apache Paimon.
    Paimon(Box<PaimonScan>),
}

impl Scan {
    /// The scan as one of Iceberg, for what others don't have.
    ///
    /// # Errors
    /// `Unsupported` if it is one of Paimon.
    pub fn iceberg(&self, what: &str) -> Result<&handle::Scan> {
        match self {
            Scan::Iceberg(scan) => Ok(scan),
            Scan::Paimon(_) => Err(Error::unsupported(format!("{what}: not of tables of Apache Paimon yet"))
                .hint("plan_files(), plan() and explain() say what is read")),
        }
    }

    /// Keeps only rows that this filter keeps as well.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    pub fn filter(&self, predicate: Predicate) -> Result<Scan> {
        Ok(match self {
            Scan::Iceberg(s) => Scan::Iceberg(Box::new(s.filter(predicate)?)),
            Scan::Paimon(s) => Scan::Paimon(Box::new(s.filter(predicate)?)),
        })
    }

    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    pub fn select(&self, columns: &[String]) -> Result<Scan> {
        Ok(match self {
            Scan::Iceberg(s) => Scan::Iceberg(Box::new(s.select(columns)?)),
            Scan::Paimon(s) => Scan::Paimon(Box::new(s.select(columns)?)),
        })
    }

    /// Reads at most so many rows.
    pub fn limit(&self, rows: usize) -> Scan {
        match self {
            Scan::Iceberg(s) => Scan::Iceberg(Box::new(s.limit(rows))),
            Scan::Paimon(s) => Scan::Paimon(Box::new(s.limit(rows))),
        }
    }

    /// What tasks of this scan share.
    pub fn context(&self) -> &Arc<ReadContext> {
        of_either!(self, s => s.context())
    }

    /// The rows' schema.
    pub fn projection(&self) -> &Arc<Schema> {
        &self.context().projection
    }

    /// The rows' Arrow schema.
    ///
    /// # Errors
    /// `Unsupported` for a column whose type has no Arrow form.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        to_arrow(self.projection())
    }

    /// The filter as text.
    pub fn filter_text(&self) -> String {
        of_either!(self, s => s.filter_text())
    }

    /// The snapshot that is read; `None` for an empty table.
    pub fn snapshot_id(&self) -> Option<i64> {
        of_either!(self, s => s.snapshot_id())
    }

    /// Whether the rows are those that changed.
    pub fn is_of_changes(&self) -> bool {
        of_either!(self, s => s.is_of_changes())
    }

    /// Whether its plan can be made in parts.
    pub fn is_of_version(&self) -> bool {
        matches!(self, Scan::Iceberg(s) if s.is_of_version())
    }

    /// Tasks, one for each file, in deterministic order.
    ///
    /// # Errors
    /// Those of planning.
    pub fn plan_files(&self, go_on: Cancellation) -> Result<TaskSource> {
        Ok(match self {
            Scan::Iceberg(s) => {
                let mut tasks = s.plan_files(go_on)?;
                Box::new(move |go_on| tasks.next_task(go_on))
            }
            Scan::Paimon(s) => s.plan_files(go_on)?,
        })
    }

    /// The tasks as Arrow batches without an object each; columns as in [`Scan::plan_schema`].
    ///
    /// # Errors
    /// Those of planning.
    pub fn plan_table(&self, go_on: Cancellation) -> Result<Vec<RecordBatch>> {
        of_either!(self, s => s.plan_table(go_on))
    }

    /// The schema of [`Scan::plan_table`].
    pub fn plan_schema(&self) -> SchemaRef {
        of_either!(self, s => s.plan_schema())
    }

    /// The number of tasks.
    ///
    /// # Errors
    /// Those of planning.
    pub fn count_files(&self, go_on: Cancellation) -> Result<u64> {
        of_either!(self, s => s.count_files(go_on))
    }

    /// Splits, packed as the reference implementation packs them.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that are not positive; those of planning.
    pub fn splits(&self, request: SplitRequest, go_on: Cancellation) -> Result<Vec<Split>> {
        of_either!(self, s => s.splits(request, go_on))
    }

    /// The same, packed if they are so many and more, where they can be.
    ///
    /// # Errors
    /// As [`Scan::splits`].
    pub fn splits_or_packed(&self, request: SplitRequest, pack_from: usize, go_on: Cancellation) -> Result<Splits> {
        match self {
            Scan::Iceberg(scan) => scan.splits_or_packed(request, pack_from, go_on),
            Scan::Paimon(scan) => scan.splits(request, go_on).map(Splits::Each),
        }
    }

    /// What planning does and why.
    ///
    /// # Errors
    /// Those of planning.
    pub fn explain(&self, files: bool, go_on: Cancellation) -> Result<Explained> {
        of_either!(self, s => s.explain(files, go_on))
    }

    /// What planning will cost, before it is paid.
    ///
    /// # Errors
    /// As [`handle::Scan::estimate`] and [`PaimonScan::estimate`].
    pub fn estimate(&self, go_on: Cancellation) -> Result<Estimate> {
        match self {
            Scan::Iceberg(s) => s.estimate(go_on),
            Scan::Paimon(s) => s.estimate(),
        }
    }

    /// Counts and bounds of columns.
    ///
    /// # Errors
    /// As [`handle::Scan::statistics`] and [`PaimonScan::statistics`].
    pub fn statistics(&self, columns: &[String], go_on: Cancellation) -> Result<Statistics> {
        of_either!(self, s => s.statistics(columns, go_on))
    }

    /// The rows, one batch at a time.
    ///
    /// # Errors
    /// Those of planning and reading.
    pub fn read(&self, how: StreamRequest) -> Result<BatchStream> {
        of_either!(self, s => s.read(how))
    }

    /// All rows, files read in parallel; batches in the order of the tasks. `go_on` is asked between batches.
    ///
    /// # Errors
    /// As [`Scan::read`]; what `go_on` gives.
    pub fn read_all(&self, go_on: Cancellation) -> Result<Vec<RecordBatch>> {
        self.read(StreamRequest { ordered: true, all: true, ..StreamRequest::default() })?.collect_all(go_on)
    }

    /// The number of rows.
    ///
    /// # Errors
    /// As [`Scan::read`]; what `go_on` gives.
    pub fn count(&self, go_on: Cancellation) -> Result<u64> {
        of_either!(self, s => s.count(go_on))
    }
}
