//! A table of Apache Iceberg behind the seam: [`seam::Table`], [`seam::Scan`] and their capabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::read::read_ahead::TaskSource;
use crate::error::Result;
use crate::expr::{Predicate, bind};
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::estimate::Estimate;
use crate::format::evolution::Evolution;
use crate::format::maintenance::{
    CompactOptions, Compacted, DeleteOptions, FileOrder, Maintained, Maintenance, OrphanOptions, Orphans,
    RewrittenDeletes,
};
use crate::format::maintenance_parts::{
    DeletePart, Listed, PartWriter, PartedCompaction, PartedDeletes, PartedListing, PartedMetadata, PartsDone,
    Reachable,
};
use crate::format::packed_splits::Splits;
use crate::format::request::{At, RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::row_change::{ChangeFiles, Part, RowChange};
use crate::format::splits::SplitRequest;
use crate::format::table_format::TableFormat;
use crate::format::task::{CommitMessage, DataFile, ReadContext, Split};
use crate::iceberg::inspect::metadata_table::MetadataTable;
use crate::iceberg::inspect::tables::inspect;
use crate::iceberg::scan::handle::Scan;
use crate::iceberg::scan::plan_parts::{self, PlanPart};
use crate::iceberg::state::{ICEBERG, Table};
use crate::iceberg::transaction::pending::Transaction;
use crate::rows::explanation::Explained;
use crate::rows::metadata_rows::Rows;
use crate::rows::native_read::{NativeRead, NativeReadRequest};
use crate::rows::seam;
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, RowReader, StreamRequest};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// A table behind the seam.
fn shared(table: Table) -> Arc<dyn seam::Table> {
    Arc::new(table)
}

impl seam::Table for Table {
    fn format(&self) -> &'static TableFormat {
        &ICEBERG
    }

    fn format_version(&self) -> u8 {
        Table::format_version(self)
    }

    fn location(&self) -> &str {
        Table::location(self)
    }

    fn metadata_location(&self) -> &str {
        Table::metadata_location(self)
    }

    fn uuid(&self) -> &str {
        Table::uuid(self)
    }

    fn schema(&self) -> &Arc<Schema> {
        Table::schema(self)
    }

    fn partition_spec(&self) -> Arc<PartitionSpec> {
        Table::partition_spec(self)
    }

    fn sort_order(&self) -> Arc<SortOrder> {
        Table::sort_order(self)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        Table::properties(self)
    }

    fn snapshot(&self) -> Option<SnapshotInfo> {
        Table::snapshot(self)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        Ok(Table::snapshots(self))
    }

    fn refs(&self) -> Result<Vec<RefInfo>> {
        Ok(Table::refs(self))
    }

    fn refresh(&self) -> Result<Arc<dyn seam::Table>> {
        Table::refresh(self).map(shared)
    }

    fn writable_location(&self) -> Result<&str> {
        Table::writable_location(self)
    }

    fn to_json(&self) -> String {
        Table::to_json(self)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(Table::scan(self, request)?))
    }

    fn inspect(&self, name: &str, at: Option<&At>) -> Result<Rows> {
        inspect(self, MetadataTable::parse(name)?, at)
    }

    fn append(&self, rows: RowReader, options: &WriteOptions, commit: &CommitOptions) -> Result<Arc<dyn seam::Table>> {
        self.append_with(rows, options, commit).map(shared)
    }

    fn write(&self, rows: RowReader, options: &WriteOptions) -> Result<CommitMessage> {
        self.write_with(rows, options)
    }

    fn write_delta(
        &self,
        change: &RowChange,
        rows: RowReader,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage> {
        Table::write_delta(self, change, rows, branch, task)
    }

    fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Arc<dyn seam::Table>> {
        Table::commit(self, messages, options).map(shared)
    }

    fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        Table::commit_overwrite(self, change, messages, options).map(shared)
    }

    fn check_overwrite(&self, change: &RowChange) -> Result<()> {
        match change {
            RowChange::Overwrite(filter) => bind(filter, Table::schema(self), true).map(drop),
            _ => Ok(()),
        }
    }

    fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        Table::abort(self, messages)
    }

    fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        Table::change_rows(self, change, rows, options).map(shared)
    }

    fn evolve(&self, evolutions: &[Evolution]) -> Result<Arc<dyn seam::Table>> {
        Table::evolve(self, evolutions).map(shared)
    }

    fn maintain(&self, action: &Maintenance) -> Result<(Arc<dyn seam::Table>, Maintained)> {
        Table::maintain(self, action).map(|(table, done)| (shared(table), done))
    }

    fn transactions(&self) -> Option<&dyn seam::Transactions> {
        Some(self)
    }

    fn foreign_files(&self) -> Option<&dyn seam::ForeignFiles> {
        Some(self)
    }

    fn changes_in_parts(&self) -> Option<&dyn seam::ChangesInParts> {
        Some(self)
    }

    fn maintenance_in_parts(&self) -> Option<&dyn seam::MaintenanceInParts> {
        Some(self)
    }

    fn cherry_picks(&self) -> Option<&dyn seam::CherryPicks> {
        Some(self)
    }

    fn file_rewrites(&self) -> Option<&dyn seam::FileRewrites> {
        Some(self)
    }
}

impl seam::Transactions for Table {
    fn begin(&self, branch: Option<String>) -> Result<Box<dyn seam::Transaction>> {
        Ok(Box::new(Transaction::begin(self, branch)?))
    }
}

impl seam::Transaction for Transaction {
    fn append(&mut self, rows: RowReader, options: &WriteOptions, properties: BTreeMap<String, String>) -> Result<()> {
        Transaction::append(self, rows, options, properties)
    }

    fn delete_files(&mut self, filter: &Predicate) -> Result<()> {
        Transaction::delete_files(self, filter)
    }

    fn change_rows(&mut self, change: &RowChange, rows: Option<RowReader>, options: &CommitOptions) -> Result<()> {
        Transaction::change_rows(self, change, rows, options)
    }

    fn add_files(&mut self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<()> {
        Transaction::add_files(self, paths, check_duplicates, options)
    }

    fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()> {
        Transaction::evolve(self, evolutions)
    }

    fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()> {
        Transaction::cherry_pick(self, snapshot_id)
    }

    fn table(&mut self) -> Result<Arc<dyn seam::Table>> {
        Transaction::table(self).map(shared)
    }

    fn dry_run(&mut self) -> Result<DryRun> {
        Transaction::dry_run(self)
    }

    fn commit(self: Box<Self>) -> Result<Arc<dyn seam::Table>> {
        Transaction::commit(*self).map(shared)
    }

    fn abort(self: Box<Self>) {
        Transaction::abort(*self);
    }
}

impl seam::ForeignFiles for Table {
    fn add_files(
        &self,
        paths: &[String],
        check_duplicates: bool,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        Table::add_files(self, paths, check_duplicates, options).map(shared)
    }

    fn job_folder(&self, name: &str) -> Result<Option<String>> {
        Table::job_folder(self, name)
    }

    fn collect_job(&self, folder: &str, in_order: bool) -> Result<CommitMessage> {
        Table::collect_job(self, folder, in_order)
    }

    fn sweep_job(&self, folder: &str) -> Result<()> {
        Table::sweep_job(self, folder)
    }
}

impl seam::ChangesInParts for Table {
    fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles> {
        Table::change_files(self, change, branch)
    }

    fn write_part(
        &self,
        part: &Part,
        rows: Option<RowReader>,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage> {
        Table::write_part(self, part, rows, branch, task)
    }

    fn commit_parts(
        &self,
        change: &RowChange,
        filter: &Predicate,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        Table::commit_parts(self, change, filter, messages, options).map(shared)
    }
}

impl seam::MaintenanceInParts for Table {
    fn plan_compaction(&self, options: &CompactOptions) -> Result<(Arc<dyn seam::Table>, PartedCompaction)> {
        Table::compact_in_parts(self, options).map(|(table, planned)| (shared(table), planned))
    }

    fn compact_part(
        &self,
        part: &Split,
        roll_at: u64,
        order: &FileOrder,
        writer: &PartWriter,
    ) -> Result<CommitMessage> {
        Table::compact_part(self, part, roll_at, order, writer)
    }

    fn commit_compaction(&self, done: PartsDone, options: &CommitOptions) -> Result<(Arc<dyn seam::Table>, Compacted)> {
        Table::commit_compacted_parts(self, done, options).map(|(table, done)| (shared(table), done))
    }

    fn plan_delete_rewrite(&self, options: &DeleteOptions) -> Result<(Arc<dyn seam::Table>, PartedDeletes)> {
        Table::deletes_in_parts(self, options).map(|(table, planned)| (shared(table), planned))
    }

    fn rewrite_deletes_part(&self, since: i64, part: DeletePart, writer: &PartWriter) -> Result<CommitMessage> {
        Table::deletes_part(self, since, part, writer)
    }

    fn commit_delete_rewrite(
        &self,
        done: PartsDone,
        options: &CommitOptions,
    ) -> Result<(Arc<dyn seam::Table>, RewrittenDeletes)> {
        Table::commit_delete_parts(self, done, options).map(|(table, done)| (shared(table), done))
    }

    fn plan_listing(&self, options: &OrphanOptions) -> Result<PartedListing> {
        Table::orphans_to_list(self, options)
    }

    fn list_part(&self, options: &OrphanOptions, folders: Vec<String>) -> Result<Vec<Listed>> {
        Table::list_part(self, options, folders)
    }

    fn plan_reachable(&self, options: &OrphanOptions) -> Result<(Arc<dyn seam::Table>, PartedMetadata)> {
        Table::reachable_to_read(self, options).map(|(table, planned)| (shared(table), planned))
    }

    fn reachable_part(&self, options: &OrphanOptions, manifests: &[String]) -> Result<Vec<Reachable>> {
        Table::reachable_part(self, options, manifests)
    }

    fn delete_orphans(
        &self,
        options: &OrphanOptions,
        conflicts: &BTreeSet<String>,
        files: Vec<String>,
    ) -> Result<Orphans> {
        let deletion = Table::delete_orphans(self, options, conflicts, &files)?;
        Ok(Orphans { files, deletion })
    }

    fn remove_files_of(&self, job: &str) -> Result<(Arc<dyn seam::Table>, Vec<String>)> {
        Table::remove_files_of(self, job).map(|(table, removed)| (shared(table), removed))
    }
}

impl seam::CherryPicks for Table {
    fn cherry_pick(&self, snapshot_id: i64) -> Result<Arc<dyn seam::Table>> {
        Table::cherry_pick(self, snapshot_id).map(shared)
    }
}

impl seam::FileRewrites for Table {
    fn commit_rewrite(
        &self,
        replaced: Vec<DataFile>,
        messages: Vec<CommitMessage>,
        at: Option<At>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        Table::commit_rewrite(self, replaced, messages, at, options).map(shared)
    }
}

impl seam::Scan for Scan {
    fn format(&self) -> &'static TableFormat {
        &ICEBERG
    }

    fn filter(&self, predicate: Predicate) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(Scan::filter(self, predicate)?))
    }

    fn select(&self, columns: &[String]) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(Scan::select(self, columns)?))
    }

    fn limit(&self, rows: usize) -> Box<dyn seam::Scan> {
        Box::new(Scan::limit(self, rows))
    }

    fn context(&self) -> &Arc<ReadContext> {
        Scan::context(self)
    }

    fn filter_text(&self) -> String {
        Scan::filter_text(self)
    }

    fn snapshot_id(&self) -> Option<i64> {
        Scan::snapshot_id(self)
    }

    fn is_of_changes(&self) -> bool {
        Scan::is_of_changes(self)
    }

    fn plan_files(&self) -> Result<TaskSource> {
        let mut tasks = Scan::plan_files(self)?;
        Ok(Box::new(move || tasks.next_task()))
    }

    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        Scan::plan_table(self)
    }

    fn plan_schema(&self) -> SchemaRef {
        Scan::plan_schema(self)
    }

    fn count_files(&self) -> Result<u64> {
        Scan::count_files(self)
    }

    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        Scan::splits(self, request)
    }

    fn splits_or_packed(&self, request: SplitRequest, pack_from: usize) -> Result<Splits> {
        Scan::splits_or_packed(self, request, pack_from)
    }

    fn explain(&self, files: bool) -> Result<Explained> {
        Scan::explain(self, files)
    }

    fn estimate(&self) -> Result<Estimate> {
        Scan::estimate(self)
    }

    fn statistics(&self, columns: &[String]) -> Result<Statistics> {
        Scan::statistics(self, columns)
    }

    fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        Scan::read(self, request)
    }

    fn count(&self) -> Result<u64> {
        Scan::count(self)
    }

    fn native_reads(&self) -> Option<&dyn seam::NativeReads> {
        Some(self)
    }

    fn parted_plans(&self) -> Option<&dyn seam::PartedPlans> {
        Some(self)
    }
}

impl seam::NativeReads for Scan {
    fn native_read(&self, request: &NativeReadRequest, packing: SplitRequest) -> Result<NativeRead> {
        Scan::native_read(self, request, packing)
    }
}

impl seam::PartedPlans for Scan {
    fn is_of_version(&self) -> bool {
        Scan::is_of_version(self)
    }

    fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<Box<dyn seam::PlanPart>>> {
        let parts = Scan::plan_parts(self, part_bytes, whole_bytes)?;
        Ok(parts.into_iter().map(|part| Box::new(part) as Box<dyn seam::PlanPart>).collect())
    }

    fn reader(&self) -> Split {
        Scan::reader(self)
    }

    fn estimate_splits(&self, files: u128) -> Result<u64> {
        Scan::estimate_splits(self, files)
    }
}

impl seam::PlanPart for PlanPart {
    fn manifest_bytes(&self) -> u64 {
        PlanPart::manifest_bytes(self)
    }

    fn most_files(&self) -> u64 {
        PlanPart::most_files(self)
    }

    fn manifest_counts(&self) -> (usize, usize) {
        PlanPart::manifest_counts(self)
    }

    fn splits(&self) -> Result<Vec<Split>> {
        PlanPart::splits(self)
    }

    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        PlanPart::plan_table(self)
    }

    fn table_schema(&self) -> SchemaRef {
        plan_parts::table_schema()
    }

    fn to_json(&self) -> String {
        PlanPart::to_json(self)
    }
}
