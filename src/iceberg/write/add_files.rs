//! Adding existing Parquet files to a table where they are, without reading their rows.

use std::collections::{BTreeMap, HashSet};

use crate::data::parquet::import::importer::Importer;
use crate::error::{Error, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::evolution::Evolution;
use crate::format::request::{At, ScanRequest};
use crate::format::task::FileFormat;
use crate::iceberg::commit::live::live_in_snapshot;
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::spec::metadata::MAIN_BRANCH;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::parallel::in_parallel;
use crate::store::location;
use crate::types::name_mapping::NameMapping;

/// The table property that says how to read files without field ids.
const NAME_MAPPING: &str = "schema.name-mapping.default";

impl IcebergTable {
    /// Adds existing Parquet files in one commit. Metrics come from their footers, and partition values from equal
    /// bounds. If a file lacks field ids, a table without name mapping gets one.
    ///
    /// With `check_duplicates`, files that the table already has are refused, as are files that another commit adds
    /// meanwhile.
    ///
    /// # Errors
    /// `InvalidInput` for a file that does not fit, belongs to several partitions or is already in the table;
    /// `NotFound` for a missing file; as [`IcebergTable::append`].
    pub fn add_files(&self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<IcebergTable> {
        let mut transaction = IcebergTransaction::begin(self, options.branch.clone())?;
        transaction.add_files(paths, check_duplicates, options)?;
        transaction.commit()
    }
}

impl IcebergTransaction {
    /// As [`IcebergTable::add_files`], as a part of the transaction, on its branch.
    ///
    /// # Errors
    /// As [`IcebergTable::add_files`].
    pub(crate) fn add_files(
        &mut self,
        paths: &[String],
        check_duplicates: bool,
        options: &CommitOptions,
    ) -> Result<()> {
        self.check_options(options)?;
        let table = self.table()?;
        let metadata = &table.inner.metadata;
        let paths = paths.iter().map(|p| location::absolute(p)).collect::<Result<Vec<_>>>()?;
        let mut seen = HashSet::new();
        if let Some(path) = paths.iter().find(|p| !seen.insert(location::normalise(p))) {
            return Err(Error::invalid("a file is named twice").with("path", path));
        }
        if paths.is_empty() {
            return Ok(());
        }
        if let Some(snapshot) = self.head(metadata)?.filter(|_| check_duplicates) {
            let live = live_in_snapshot(table.inner.store.as_ref(), snapshot, &paths)?;
            if let Some(path) = live.first() {
                return Err(Error::invalid("the table has this file already").with("path", path));
            }
        }
        if !check_duplicates && table.format_version() >= 3 {
            self.check_no_vectors(&table, &paths)?;
        }
        let mapping = metadata.properties.get(NAME_MAPPING);
        let sorted = table.sort_order().ordered_columns();
        let (store, schema) = (table.inner.store.clone(), table.schema().clone());
        let importer = Importer::new(
            store.clone(),
            schema.clone(),
            table.partition_spec(),
            &metadata.properties,
            &sorted,
            mapping.map(String::as_str),
            &metadata.schemas,
        )?;
        let mut imported = in_parallel(paths.len(), |i| importer.import(&paths[i]))?;
        if !table.partition_spec().is_unpartitioned() {
            // Files without rows belong to no partition.
            imported.retain(|f| f.file.record_count > 0);
        }
        if imported.is_empty() {
            return Ok(());
        }
        if mapping.is_none() && imported.iter().any(|f| !f.has_ids) {
            let text = NameMapping::text_of(&schema);
            let properties = BTreeMap::from([(NAME_MAPPING.to_owned(), text)]);
            self.evolve(&[Evolution::SetProperties(properties)])?;
        }
        let absent = if check_duplicates { paths.iter().cloned().collect() } else { HashSet::new() };
        let change = SnapshotProducer::new(store, Operation::Append)
            .add_files(imported.into_iter().map(|f| f.file))
            .with_preconditions(Preconditions { since: self.since()?, absent, ..Preconditions::default() });
        let branch = self.branch().unwrap_or(MAIN_BRANCH).to_owned();
        self.add_snapshot(change, options).with("branch", branch)
    }

    /// Refuses files that the table already has with a deletion vector: the vector would have to be as new as the new
    /// entry.
    fn check_no_vectors(&self, table: &IcebergTable, paths: &[String]) -> Result<()> {
        let paths: HashSet<String> = paths.iter().map(|p| location::normalise(p)).collect();
        let Some(snapshot) = self.head(&table.inner.metadata)? else { return Ok(()) };
        let scan = table.scan(ScanRequest { at: Some(At::Snapshot(snapshot.id)), ..ScanRequest::default() })?;
        let mut plan = RunningPlan::start(scan.plan_input())?;
        while let Some(batch) = plan.next_batch()? {
            for (k, row) in batch.rows.iter().enumerate() {
                let path = batch.columns.path.get(*row as usize).and_then(|path| std::str::from_utf8(path).ok());
                if !path.is_some_and(|path| paths.contains(location::normalised(path).as_ref())) {
                    continue;
                }
                if batch.task(k)?.deletes.iter().any(|d| d.file.format == FileFormat::Puffin) {
                    return Err(Error::invalid("the table has this file already, and rows of it are deleted")
                        .with("path", path.unwrap_or_default())
                        .hint("Append its rows, or compact the table first"));
                }
            }
        }
        Ok(())
    }
}
