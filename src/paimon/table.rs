//! A table of Apache Paimon behind the seam: [`seam::Table`] and [`seam::Scan`].

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::read::read_ahead::TaskSource;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::commit_rows::CommitRows;
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions};
use crate::format::diagnosis::repair::{RepairOptions, RepairStep};
use crate::format::estimate::Estimate;
use crate::format::evolution::Evolution;
use crate::format::maintenance::{Maintained, Maintenance};
use crate::format::request::{At, RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::row_change::{ChangeFiles, Part, RowChange};
use crate::format::splits::SplitRequest;
use crate::format::table_format::TableFormat;
use crate::format::task::{CommitMessage, ReadContext, Split};
use crate::paimon::inspect::tables::inspect;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::rows::explanation::Explained;
use crate::rows::metadata_rows::MetadataRows;
use crate::rows::seam;
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, RowReader, StreamRequest};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// A table behind the seam.
fn shared(table: PaimonTable) -> Arc<dyn seam::Table> {
    Arc::new(table)
}

/// Refuses options of writers that tables of Paimon do not have: files are sorted by their keys, or not at all.
fn check_options(options: &WriteOptions) -> Result<()> {
    if options.rewrites {
        return Err(Error::unsupported("rewrites of files of tables of Apache Paimon by messages")
            .hint("maintain.compact() rewrites files"));
    }
    match options.sort_by.as_deref() {
        None | Some([]) => Ok(()),
        Some(_) => Err(PAIMON.lacks("sort_by")),
    }
}

impl seam::Table for PaimonTable {
    fn format(&self) -> &'static TableFormat {
        &PAIMON
    }

    fn format_version(&self) -> u8 {
        PaimonTable::format_version(self)
    }

    fn location(&self) -> &str {
        PaimonTable::location(self)
    }

    fn metadata_location(&self) -> &str {
        PaimonTable::metadata_location(self)
    }

    fn uuid(&self) -> &str {
        PaimonTable::uuid(self)
    }

    fn diagnose(&self, options: &DoctorOptions) -> Result<Diagnosis> {
        PaimonTable::diagnose(self, options)
    }

    fn schema(&self) -> &Arc<Schema> {
        PaimonTable::schema(self)
    }

    fn partition_spec(&self) -> Arc<PartitionSpec> {
        PaimonTable::partition_spec(self)
    }

    fn sort_order(&self) -> Arc<SortOrder> {
        PaimonTable::sort_order(self)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        PaimonTable::properties(self)
    }

    fn defined_at(&self, at: Option<&At>) -> Result<Option<Arc<dyn seam::Table>>> {
        Ok(PaimonTable::defined_at(self, at)?.map(shared))
    }

    fn snapshot(&self) -> Option<SnapshotInfo> {
        PaimonTable::snapshot(self)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        PaimonTable::snapshots(self)
    }

    fn refs(&self) -> Result<Vec<RefInfo>> {
        PaimonTable::refs(self)
    }

    fn commit_rows(&self) -> Result<BTreeMap<i64, CommitRows>> {
        PaimonTable::commit_rows(self)
    }

    fn refresh(&self) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::refresh(self).map(shared)
    }

    fn writable_location(&self) -> Result<&str> {
        Ok(PaimonTable::location(self))
    }

    fn to_json(&self) -> String {
        PaimonTable::to_json(self)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(PaimonTable::scan(self, request)?))
    }

    fn inspect(&self, name: &str, at: Option<&At>) -> Result<MetadataRows> {
        inspect(self, name, at)
    }

    fn append(&self, rows: RowReader, options: &WriteOptions, commit: &CommitOptions) -> Result<Arc<dyn seam::Table>> {
        check_options(options)?;
        PaimonTable::append(self, rows, commit).map(shared)
    }

    fn write(&self, rows: RowReader, options: &WriteOptions) -> Result<CommitMessage> {
        check_options(options)?;
        PaimonTable::write(self, rows, options.replaces)
    }

    fn write_delta(
        &self,
        change: &RowChange,
        rows: RowReader,
        _branch: Option<&str>,
        _task: u64,
    ) -> Result<CommitMessage> {
        PaimonTable::write_delta(self, change, rows)
    }

    fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::commit(self, messages, options).map(shared)
    }

    fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::commit_overwrite(self, change, messages, options).map(shared)
    }

    fn check_overwrite(&self, change: &RowChange) -> Result<()> {
        PaimonTable::check_overwrite(self, change).map(drop)
    }

    fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        PaimonTable::abort(self, messages)
    }

    fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::change_rows(self, change, rows, options).map(shared)
    }

    fn evolve(&self, evolutions: &[Evolution]) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::evolve(self, evolutions).map(shared)
    }

    fn repair(&self, options: &RepairOptions) -> Result<(Arc<dyn seam::Table>, Vec<RepairStep>)> {
        PaimonTable::repair(self, options).map(|(table, steps)| (shared(table), steps))
    }

    fn maintain(&self, action: &Maintenance) -> Result<(Arc<dyn seam::Table>, Maintained)> {
        PaimonTable::maintain(self, action).map(|(table, done)| (shared(table), done))
    }

    /// Rows with a primary key are changed by their keys, and not file by file.
    fn changes_in_parts(&self) -> Option<&dyn seam::ChangesInParts> {
        (!self.table_schema().has_primary_key()).then_some(self)
    }
}

impl seam::ChangesInParts for PaimonTable {
    fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles> {
        self.files_to_change(change, branch)
    }

    fn write_part(&self, part: &Part, rows: Option<RowReader>, branch: Option<&str>, _: u64) -> Result<CommitMessage> {
        PaimonTable::write_part(self, part, rows, branch)
    }

    fn commit_parts(
        &self,
        change: &RowChange,
        _: &Predicate,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        PaimonTable::commit_parts(self, change, messages, options).map(shared)
    }
}

impl seam::Scan for PaimonScan {
    fn format(&self) -> &'static TableFormat {
        &PAIMON
    }

    fn filter(&self, predicate: Predicate) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(PaimonScan::filter(self, predicate)?))
    }

    fn select(&self, columns: &[String]) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(PaimonScan::select(self, columns)?))
    }

    fn limit(&self, rows: usize) -> Box<dyn seam::Scan> {
        Box::new(PaimonScan::limit(self, rows))
    }

    fn context(&self) -> &Arc<ReadContext> {
        PaimonScan::context(self)
    }

    fn whole_filter(&self) -> BoundPredicate {
        PaimonScan::whole_filter(self)
    }

    fn snapshot_id(&self) -> Option<i64> {
        PaimonScan::snapshot_id(self)
    }

    fn is_of_changes(&self) -> bool {
        PaimonScan::is_of_changes(self)
    }

    fn plan_files(&self) -> Result<TaskSource> {
        PaimonScan::plan_files(self)
    }

    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        PaimonScan::plan_table(self)
    }

    fn plan_schema(&self) -> SchemaRef {
        PaimonScan::plan_schema(self)
    }

    fn count_files(&self) -> Result<u64> {
        PaimonScan::count_files(self)
    }

    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        PaimonScan::splits(self, request)
    }

    fn explain(&self, files: bool) -> Result<Explained> {
        PaimonScan::explain(self, files)
    }

    fn estimate(&self) -> Result<Estimate> {
        PaimonScan::estimate(self)
    }

    fn statistics(&self, columns: &[String]) -> Result<Statistics> {
        PaimonScan::statistics(self, columns)
    }

    fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        PaimonScan::read(self, request)
    }

    fn count(&self) -> Result<u64> {
        PaimonScan::count(self)
    }
}
