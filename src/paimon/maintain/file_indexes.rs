//! Writes the indexes of existing data files again, by the table's options. Rows and data files stay the same.
//!
//! A file whose schema has other names or types for the indexed columns keeps its indexes.
//!
//! Source: Java's `FileIndexProcessor`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::compaction::partition_filter;
use crate::data::deletes::cache::DeleteCache;
use crate::data::merge::kind_rows::as_written;
use crate::data::read::task::{CountedBytes, read_task};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit_loop::CommitOutcome;
use crate::format::maintenance::{FileIndexOptions, RewrittenIndexes};
use crate::format::request::ScanRequest;
use crate::format::task::{DataFile, ReadContext, ScanTask};
use crate::paimon::commit::changes::{Changes, RecordedIndexes};
use crate::paimon::commit::producer::Commit;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::plan::compact_plan::bucket_files;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::file_indexes::{IndexPlan, index_path};
use crate::parallel::{Phase, begin_phase, check_cancelled, in_parallel};
use crate::store::location::join;

impl PaimonTable {
    /// Writes the indexes of the files of some partitions again, in one commit. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` if the table's options ask for no index, or for a filter that asks for more than partition
    /// columns; `Unsupported` for tables whose columns are in several files; `CommitConflict` if another commit removed
    /// one of the files; those of reading and of the store.
    pub(crate) fn rewrite_file_indexes(&self, options: &FileIndexOptions) -> Result<(PaimonTable, RewrittenIndexes)> {
        let table = self.newest_of(options.commit.branch.as_deref())?;
        let schema = table.table_schema();
        if schema.options().data_evolution()? {
            return Err(Error::unsupported("indexes of files with some of the columns are not written again yet")
                .with("table", self.location())
                .with("option", "data-evolution.enabled"));
        }
        let plan = IndexPlan::of(schema, &schema.options(), table.folder().store().clone())?.ok_or_else(|| {
            Error::invalid("the table's options ask for no file index")
                .with("table", self.location())
                .hint("Set an option such as 'file-index.bloom-filter.columns' to the names of columns")
        })?;
        let filter = partition_filter(&table, options.filter.as_ref())?;
        let buckets = bucket_files(table.metadata(), schema, &filter, None)?;
        let context = table.scan_newest(ScanRequest::default())?.context().clone();
        let context = if schema.has_primary_key() { as_written(&context) } else { context };
        let job = IndexJob { table: &table, plan, context, cache: DeleteCache::default(), written: Mutex::default() };
        let files: Vec<(&FileEntry, &ScanTask)> =
            buckets.iter().flat_map(|bucket| bucket.files.iter().zip(&bucket.tasks)).collect();
        let found = job.run(&files);
        let reindexed = found.and_then(|found| check_cancelled().map(|()| found)).inspect_err(|_| job.clean_up())?;
        if reindexed.is_empty() {
            return Ok((self.refresh()?, RewrittenIndexes::default()));
        }
        let partitions: HashSet<String> = reindexed.iter().map(|(file, _)| file.partition.path()).collect();
        let done = RewrittenIndexes { partitions: partitions.len(), files: reindexed.len() };
        let commit = Commit::new(table.folder(), Changes { reindexed, ..Changes::default() }).compacting();
        let outcome = commit.with_properties(options.commit.snapshot_properties.clone()).run();
        if matches!(outcome, CommitOutcome::Failed(_)) {
            job.clean_up();
        }
        outcome.into_result()?;
        Ok((self.after_commit()?, done))
    }
}

/// Makes indexes of the files of a table.
struct IndexJob<'t> {
    table: &'t PaimonTable,
    plan: Arc<IndexPlan>,
    /// Reads all columns of a file as they are, without a filter.
    context: Arc<ReadContext>,
    cache: DeleteCache,
    /// Files with indexes that were written.
    written: Mutex<Vec<String>>,
}

impl IndexJob<'_> {
    /// The files that get other indexes.
    fn run(&self, files: &[(&FileEntry, &ScanTask)]) -> Result<Vec<(DataFile, RecordedIndexes)>> {
        let _phase = begin_phase(Phase::Reading, 0);
        let found = in_parallel(files.len(), |number| {
            let Some((entry, task)) = files.get(number) else { return Ok(None) };
            let indexes = self.indexes(entry, task).with("path", &task.data_file.path)?;
            Ok(indexes.map(|indexes| (task.data_file.as_ref().clone(), indexes)))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The new indexes of a file; `None` if it keeps the ones that it has.
    fn indexes(&self, entry: &FileEntry, task: &ScanTask) -> Result<Option<RecordedIndexes>> {
        let of_file = self.table.metadata().schema_by_id(entry.schema_id)?;
        if !self.plan.fits(self.table.table_schema(), of_file) {
            return Ok(None);
        }
        // Indexes are about all rows of a file, also deleted ones.
        let whole = ScanTask { deletes: Vec::new(), ..task.clone() };
        let store = self.table.folder().store();
        let (mut indexes, mut counted) = (self.plan.begin()?, CountedBytes::of([&whole]));
        for rows in read_task(store, &self.context, &whole, &self.cache)? {
            check_cancelled()?;
            let rows = rows?;
            counted.add(rows.num_rows());
            indexes.add(rows.columns())?;
        }
        counted.end();
        let Some(bytes) = indexes.encoded()? else { return Ok(None) };
        let known = entry.extra_files.iter().find(|name| name.ends_with(".index"));
        if self.plan.is_small(&bytes) {
            let same = known.is_none() && entry.embedded_index.as_ref() == Some(&bytes);
            return Ok((!same).then_some(RecordedIndexes { embedded: Some(bytes), own_file: None }));
        }
        let beside = |name: &str| match task.data_file.path.rsplit_once('/') {
            Some((folder, _)) => join(folder, name),
            None => name.to_owned(),
        };
        if let Some(known) = known
            && store.get(&beside(known)).if_found()?.as_ref() == Some(&bytes)
        {
            return Ok(None);
        }
        self.write(&task.data_file.path, &bytes).map(Some)
    }

    /// Writes a file with indexes, under a name that is free.
    fn write(&self, data_file: &str, bytes: &[u8]) -> Result<RecordedIndexes> {
        let first = index_path(data_file);
        let stem = first.trim_end_matches(".index").to_owned();
        let names = std::iter::once(first).chain((1..).map(|n| format!("{stem}-{n}.index")));
        for path in names {
            match self.table.folder().store().put_if_absent(&path, bytes) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(()) => {
                    let own_file = path.rsplit('/').next().map(str::to_owned);
                    self.written.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                    return Ok(RecordedIndexes { embedded: None, own_file });
                }
            }
        }
        Err(Error::internal("no name is free"))
    }

    /// Removes the written files.
    fn clean_up(&self) {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.table.folder().store().discard(written.clone());
    }
}
