//! A table of Apache Iceberg behind the seam: [`seam::Table`], [`seam::Scan`] and their capabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::read::read_ahead::TaskSource;
use crate::error::Result;
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::catalog::TableLabels;
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions};
use crate::format::diagnosis::repair::{RepairOptions, RepairStep};
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
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::scan::plan_parts::{self, IcebergPlanPart};
use crate::iceberg::state::{ICEBERG, IcebergTable};
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::rows::explanation::Explained;
use crate::rows::metadata_rows::MetadataRows;
use crate::rows::native_read::{NativeRead, NativeReadRequest};
use crate::rows::seam;
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, RowReader, StreamRequest};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// A table behind the seam.
fn shared(table: IcebergTable) -> Arc<dyn seam::Table> {
    Arc::new(table)
}

impl seam::Table for IcebergTable {
    fn format(&self) -> &'static TableFormat {
        &ICEBERG
    }

    fn format_version(&self) -> u8 {
        IcebergTable::format_version(self)
    }

    fn location(&self) -> &str {
        IcebergTable::location(self)
    }

    fn metadata_location(&self) -> &str {
        IcebergTable::metadata_location(self)
    }

    fn labels(&self) -> TableLabels {
        self.inner.versions.labels()
    }

    fn name(&self) -> Option<String> {
        self.inner.versions.catalog().map(|kept| kept.ident.to_string())
    }

    fn committed(&self) -> Option<&[i64]> {
        Some(&self.inner.committed)
    }

    fn uuid(&self) -> &str {
        IcebergTable::uuid(self)
    }

    fn schema(&self) -> &Arc<Schema> {
        IcebergTable::schema(self)
    }

    fn partition_spec(&self) -> Arc<PartitionSpec> {
        IcebergTable::partition_spec(self)
    }

    fn sort_order(&self) -> Arc<SortOrder> {
        IcebergTable::sort_order(self)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        IcebergTable::properties(self)
    }

    fn defined_at(&self, at: Option<&At>) -> Result<Option<Arc<dyn seam::Table>>> {
        Ok(IcebergTable::defined_at(self, at)?.map(shared))
    }

    fn snapshot(&self) -> Option<SnapshotInfo> {
        IcebergTable::snapshot(self)
    }

    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        Ok(self.whole()?.snapshots())
    }

    fn refs(&self) -> Result<Vec<RefInfo>> {
        Ok(IcebergTable::refs(self))
    }

    fn refresh(&self) -> Result<Arc<dyn seam::Table>> {
        self.refresh_as_opened().map(shared)
    }

    fn writable_location(&self) -> Result<&str> {
        IcebergTable::writable_location(self)
    }

    fn to_json(&self) -> String {
        IcebergTable::to_json(self)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(IcebergTable::scan(&self.for_scan(&request)?, request)?))
    }

    fn inspect(&self, name: &str, at: Option<&At>) -> Result<MetadataRows> {
        inspect(&self.whole()?, MetadataTable::parse(name)?, at)
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
        self.whole()?.write_delta(change, rows, branch, task)
    }

    fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Arc<dyn seam::Table>> {
        self.whole()?.commit(messages, options).map(shared)
    }

    fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        self.whole()?.commit_overwrite(change, messages, options).map(shared)
    }

    fn check_overwrite(&self, change: &RowChange) -> Result<()> {
        match change {
            RowChange::Overwrite(filter) => bind(filter, IcebergTable::schema(self), true).map(drop),
            _ => Ok(()),
        }
    }

    fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        IcebergTable::abort(self, messages)
    }

    fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        // It begins at the newest version.
        IcebergTable::change_rows(self, change, rows, options).map(shared)
    }

    fn evolve(&self, evolutions: &[Evolution]) -> Result<Arc<dyn seam::Table>> {
        self.whole()?.evolve(evolutions).map(shared)
    }

    fn maintain(&self, action: &Maintenance) -> Result<(Arc<dyn seam::Table>, Maintained)> {
        self.whole()?.maintain(action).map(|(table, done)| (shared(table), done))
    }

    fn diagnose(&self, options: &DoctorOptions) -> Result<Diagnosis> {
        IcebergTable::diagnose(self, options)
    }

    fn repair(&self, options: &RepairOptions) -> Result<(Arc<dyn seam::Table>, Vec<RepairStep>)> {
        self.whole()?.repair(options).map(|(table, steps)| (shared(table), steps))
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

impl seam::Transactions for IcebergTable {
    fn begin(&self, branch: Option<String>) -> Result<Box<dyn seam::Transaction>> {
        Ok(Box::new(IcebergTransaction::begin(self, branch)?))
    }
}

impl seam::Transaction for IcebergTransaction {
    fn append(&mut self, rows: RowReader, options: &WriteOptions, properties: BTreeMap<String, String>) -> Result<()> {
        IcebergTransaction::append(self, rows, options, properties)
    }

    fn delete_files(&mut self, filter: &Predicate) -> Result<()> {
        IcebergTransaction::delete_files(self, filter)
    }

    fn change_rows(&mut self, change: &RowChange, rows: Option<RowReader>, options: &CommitOptions) -> Result<()> {
        IcebergTransaction::change_rows(self, change, rows, options)
    }

    fn add_files(&mut self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<()> {
        IcebergTransaction::add_files(self, paths, check_duplicates, options)
    }

    fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()> {
        IcebergTransaction::evolve(self, evolutions)
    }

    fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()> {
        IcebergTransaction::cherry_pick(self, snapshot_id)
    }

    fn table(&mut self) -> Result<Arc<dyn seam::Table>> {
        IcebergTransaction::table(self).map(shared)
    }

    fn dry_run(&mut self) -> Result<DryRun> {
        IcebergTransaction::dry_run(self)
    }

    fn commit(self: Box<Self>) -> Result<Arc<dyn seam::Table>> {
        IcebergTransaction::commit(*self).map(shared)
    }

    fn abort(self: Box<Self>) {
        IcebergTransaction::abort(*self);
    }
}

impl seam::ForeignFiles for IcebergTable {
    fn add_files(
        &self,
        paths: &[String],
        check_duplicates: bool,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        IcebergTable::add_files(self, paths, check_duplicates, options).map(shared)
    }

    fn job_folder(&self, name: &str) -> Result<Option<String>> {
        IcebergTable::job_folder(self, name)
    }

    fn collect_job(&self, folder: &str, in_order: bool) -> Result<CommitMessage> {
        self.whole()?.collect_job(folder, in_order)
    }

    fn sweep_job(&self, folder: &str) -> Result<()> {
        IcebergTable::sweep_job(self, folder)
    }
}

impl seam::ChangesInParts for IcebergTable {
    fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles> {
        self.whole()?.change_files(change, branch)
    }

    fn write_part(
        &self,
        part: &Part,
        rows: Option<RowReader>,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage> {
        self.whole()?.write_part(part, rows, branch, task)
    }

    fn commit_parts(
        &self,
        change: &RowChange,
        filter: &Predicate,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        self.whole()?.commit_parts(change, filter, messages, options).map(shared)
    }
}

impl seam::MaintenanceInParts for IcebergTable {
    fn plan_compaction(&self, options: &CompactOptions) -> Result<(Arc<dyn seam::Table>, PartedCompaction)> {
        self.whole()?.compact_in_parts(options).map(|(table, planned)| (shared(table), planned))
    }

    fn compact_part(
        &self,
        part: &Split,
        roll_at: u64,
        order: &FileOrder,
        writer: &PartWriter,
    ) -> Result<CommitMessage> {
        IcebergTable::compact_part(self, part, roll_at, order, writer)
    }

    fn commit_compaction(&self, done: PartsDone, options: &CommitOptions) -> Result<(Arc<dyn seam::Table>, Compacted)> {
        self.whole()?.commit_compacted_parts(done, options).map(|(table, done)| (shared(table), done))
    }

    fn plan_delete_rewrite(&self, options: &DeleteOptions) -> Result<(Arc<dyn seam::Table>, PartedDeletes)> {
        self.whole()?.deletes_in_parts(options).map(|(table, planned)| (shared(table), planned))
    }

    fn rewrite_deletes_part(&self, since: i64, part: DeletePart, writer: &PartWriter) -> Result<CommitMessage> {
        self.whole()?.deletes_part(since, part, writer)
    }

    fn commit_delete_rewrite(
        &self,
        done: PartsDone,
        options: &CommitOptions,
    ) -> Result<(Arc<dyn seam::Table>, RewrittenDeletes)> {
        self.whole()?.commit_delete_parts(done, options).map(|(table, done)| (shared(table), done))
    }

    fn plan_listing(&self, options: &OrphanOptions) -> Result<PartedListing> {
        self.whole()?.orphans_to_list(options)
    }

    fn list_part(&self, options: &OrphanOptions, folders: Vec<String>) -> Result<Vec<Listed>> {
        IcebergTable::list_part(self, options, folders)
    }

    fn plan_reachable(&self, options: &OrphanOptions) -> Result<(Arc<dyn seam::Table>, PartedMetadata)> {
        self.whole()?.reachable_to_read(options).map(|(table, planned)| (shared(table), planned))
    }

    fn reachable_part(&self, options: &OrphanOptions, manifests: &[String]) -> Result<Vec<Reachable>> {
        self.whole()?.reachable_part(options, manifests)
    }

    fn delete_orphans(
        &self,
        options: &OrphanOptions,
        conflicts: &BTreeSet<String>,
        files: Vec<String>,
    ) -> Result<Orphans> {
        let deletion = self.whole()?.delete_orphans(options, conflicts, &files)?;
        Ok(Orphans { files, deletion })
    }

    fn remove_files_of(&self, job: &str) -> Result<(Arc<dyn seam::Table>, Vec<String>)> {
        self.whole()?.remove_files_of(job).map(|(table, removed)| (shared(table), removed))
    }
}

impl seam::CherryPicks for IcebergTable {
    fn cherry_pick(&self, snapshot_id: i64) -> Result<Arc<dyn seam::Table>> {
        IcebergTable::cherry_pick(self, snapshot_id).map(shared)
    }
}

impl seam::FileRewrites for IcebergTable {
    fn commit_rewrite(
        &self,
        replaced: Vec<DataFile>,
        messages: Vec<CommitMessage>,
        at: Option<At>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn seam::Table>> {
        self.whole()?.commit_rewrite(replaced, messages, at, options).map(shared)
    }
}

impl seam::Scan for IcebergScan {
    fn format(&self) -> &'static TableFormat {
        &ICEBERG
    }

    fn filter(&self, predicate: Predicate) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(IcebergScan::filter(self, predicate)?))
    }

    fn select(&self, columns: &[String]) -> Result<Box<dyn seam::Scan>> {
        Ok(Box::new(IcebergScan::select(self, columns)?))
    }

    fn limit(&self, rows: usize) -> Box<dyn seam::Scan> {
        Box::new(IcebergScan::limit(self, rows))
    }

    fn context(&self) -> &Arc<ReadContext> {
        IcebergScan::context(self)
    }

    fn whole_filter(&self) -> BoundPredicate {
        IcebergScan::whole_filter(self)
    }

    fn snapshot_id(&self) -> Option<i64> {
        IcebergScan::snapshot_id(self)
    }

    fn is_of_changes(&self) -> bool {
        IcebergScan::is_of_changes(self)
    }

    fn plan_files(&self) -> Result<TaskSource> {
        let mut tasks = IcebergScan::plan_files(self)?;
        Ok(Box::new(move || tasks.next_task()))
    }

    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        IcebergScan::plan_table(self)
    }

    fn plan_schema(&self) -> SchemaRef {
        IcebergScan::plan_schema(self)
    }

    fn count_files(&self) -> Result<u64> {
        IcebergScan::count_files(self)
    }

    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>> {
        IcebergScan::splits(self, request)
    }

    fn splits_or_packed(&self, request: SplitRequest, pack_from: usize) -> Result<Splits> {
        IcebergScan::splits_or_packed(self, request, pack_from)
    }

    fn explain(&self, files: bool) -> Result<Explained> {
        IcebergScan::explain(self, files)
    }

    fn estimate(&self) -> Result<Estimate> {
        IcebergScan::estimate(self)
    }

    fn statistics(&self, columns: &[String]) -> Result<Statistics> {
        IcebergScan::statistics(self, columns)
    }

    fn read(&self, request: StreamRequest) -> Result<BatchStream> {
        IcebergScan::read(self, request)
    }

    fn count(&self) -> Result<u64> {
        IcebergScan::count(self)
    }

    fn native_reads(&self) -> Option<&dyn seam::NativeReads> {
        Some(self)
    }

    fn parted_plans(&self) -> Option<&dyn seam::PartedPlans> {
        Some(self)
    }
}

impl seam::NativeReads for IcebergScan {
    fn native_read(&self, request: &NativeReadRequest, packing: SplitRequest) -> Result<NativeRead> {
        IcebergScan::native_read(self, request, packing)
    }
}

impl seam::PartedPlans for IcebergScan {
    fn is_of_version(&self) -> bool {
        IcebergScan::is_of_version(self)
    }

    fn is_served(&self) -> Result<bool> {
        self.planned_scan(false).is_served()
    }

    fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<Box<dyn seam::PlanPart>>> {
        let parts = IcebergScan::plan_parts(self, part_bytes, whole_bytes)?;
        Ok(parts.into_iter().map(|part| Box::new(part) as Box<dyn seam::PlanPart>).collect())
    }

    fn reader(&self) -> Split {
        IcebergScan::reader(self)
    }

    fn estimate_splits(&self, files: u128) -> Result<u64> {
        IcebergScan::estimate_splits(self, files)
    }
}

impl seam::PlanPart for IcebergPlanPart {
    fn manifest_bytes(&self) -> u64 {
        IcebergPlanPart::manifest_bytes(self)
    }

    fn most_files(&self) -> u64 {
        IcebergPlanPart::most_files(self)
    }

    fn manifest_counts(&self) -> (usize, usize) {
        IcebergPlanPart::manifest_counts(self)
    }

    fn splits(&self) -> Result<Vec<Split>> {
        IcebergPlanPart::splits(self)
    }

    fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        IcebergPlanPart::plan_table(self)
    }

    fn table_schema(&self) -> SchemaRef {
        plan_parts::table_schema()
    }

    fn to_json(&self) -> String {
        IcebergPlanPart::to_json(self)
    }
}
