//! Postponed buckets: gives waiting rows their buckets by the hashes of their keys.
//!
//! The rows are written into files of level 0 in their order of arrival, as if they arrived now. They get the number
//! of buckets of their partition. Later compactions of those files are not reported here.
//!
//! Source: Java's `PostponeBucketCompactSplitSource`, `SparkPostponeCompactProcedure` and `PostponeUtils`.

use std::collections::{BTreeMap, HashMap};

use super::compaction::{merged, partition_filter};
use crate::data::deletes::cache::DeleteCache;
use crate::data::merge::kind_rows::as_written;
use crate::data::read::task::{CountedBytes, bytes_of, read_task};
use crate::error::{Error, Result, ResultExt};
use crate::format::maintenance::{BucketCompaction, Compacted};
use crate::format::request::ScanRequest;
use crate::format::task::ScanTask;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::compact_plan::{BucketFiles, bucket_files};
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::settle::paths_of;
use crate::paimon::write::write_plan::{RewriteState, WriteKind};
use crate::paimon::write::writer::{PaimonWriter, WrittenFiles};
use crate::parallel::{Phase, begin_phase, check_cancelled, expect_total};
use crate::types::options::Options;

/// Gives waiting rows their buckets, in one commit if there are such rows. Returns the table with them, and the
/// result.
///
/// # Errors
/// As [`PaimonTable::compact`].
pub(crate) fn place_waiting(table: PaimonTable, compaction: &BucketCompaction) -> Result<(PaimonTable, Compacted)> {
    let schema = table.table_schema().clone();
    let filter = partition_filter(&table, compaction.filter.as_ref())?;
    let buckets = bucket_files(table.metadata(), &schema, &filter, None)?;
    let waiting: Vec<&BucketFiles> = buckets.iter().filter(|b| b.bucket == POSTPONE_BUCKET).collect();
    let files = || waiting.iter().flat_map(|bucket| &bucket.tasks).map(|task| &task.data_file);
    let mut done = Compacted {
        groups: waiting.len(),
        rewritten_files: files().count(),
        rewritten_bytes: files().map(|f| u64::try_from(f.size_bytes).unwrap_or(0)).fold(0, u64::saturating_add),
        ..Compacted::default()
    };
    if compaction.dry_run || waiting.is_empty() {
        return Ok((table, done));
    }
    let mut changes = Changes { removed: files().map(|f| f.as_ref().clone()).collect(), ..Changes::default() };
    let options = merged(&table, &compaction.options)?;
    for (count, partitions) in by_count(&schema, &buckets, &waiting)? {
        let written = write(&table, &options, count, &partitions);
        let written = written.inspect_err(|_| delete(&table, &changes))?;
        changes.added.extend(written.added);
        changes.changelog.extend(written.changelog);
    }
    done.count(&changes);
    let mut commit = Commit::new(table.folder(), changes).compacting().owning_files();
    if !compaction.commit.snapshot_properties.is_empty() {
        commit = commit.with_properties(compaction.commit.snapshot_properties.clone());
    }
    commit.run().into_result()?;
    done.commits = 1;
    Ok((table.after_commit()?, done))
}

/// Removes the written files.
fn delete(table: &PaimonTable, changes: &Changes) {
    let files = changes.added.iter().chain(&changes.changelog);
    table.folder().store().discard(files.flat_map(paths_of).collect());
}

/// The partitions with waiting rows, by the number of buckets that they get. A partition with buckets keeps their
/// number. A new one gets the table's number.
fn by_count<'b>(
    schema: &TableSchema,
    all: &'b [BucketFiles],
    waiting: &[&'b BucketFiles],
) -> Result<BTreeMap<i32, Vec<&'b BucketFiles>>> {
    let mut known: HashMap<&[u8], i32> = HashMap::new();
    for bucket in all.iter().filter(|b| b.bucket >= 0 && b.total_buckets > 0) {
        let count = known.entry(&bucket.partition_row).or_insert(bucket.total_buckets);
        if *count != bucket.total_buckets {
            let both = format!("some files record {count} buckets for a partition, others {}", bucket.total_buckets);
            return Err(Error::corrupt(both).hint("Java Paimon's rescale job gives its rows one number of buckets"));
        }
    }
    const DEFAULT: &str = "postpone.default-bucket-num";
    let default = schema.options().integer(DEFAULT)?.unwrap_or(1);
    let default = i32::try_from(default).ok().filter(|n| *n > 0);
    let default =
        default.ok_or_else(|| Error::invalid("a partition needs at least one bucket").with("option", DEFAULT))?;
    let mut out: BTreeMap<i32, Vec<&BucketFiles>> = BTreeMap::new();
    for bucket in waiting {
        let count = known.get(&bucket.partition_row[..]).copied().unwrap_or(default);
        out.entry(count).or_default().push(bucket);
    }
    Ok(out)
}

/// Writes the waiting rows of some partitions.
fn write(
    table: &PaimonTable,
    options: &BTreeMap<String, String>,
    count: i32,
    partitions: &[&BucketFiles],
) -> Result<WrittenFiles> {
    let mut parts = table.table_schema().parts();
    parts.options = options.clone();
    parts.options.insert("bucket".to_owned(), count.to_string());
    let real = table.with_schema(TableSchema::new(parts)?);
    let context = as_written(table.scan_newest(ScanRequest::default())?.context());
    let (store, cache) = (table.folder().store(), DeleteCache::default());
    let mut writer = PaimonWriter::of_written(&real, WriteKind::Add, false, RewriteState::default())?;
    let _phase = begin_phase(Phase::Compacting, 0);
    let tasks = || partitions.iter().flat_map(|bucket| &bucket.tasks);
    expect_total(Phase::Compacting, || tasks().map(bytes_of).fold(0, u64::saturating_add));
    let written = partitions.iter().try_for_each(|bucket| {
        in_order(bucket).into_iter().try_for_each(|task| {
            let mut counted = CountedBytes::of([task]);
            for rows in read_task(store, &context, task, &cache)? {
                check_cancelled()?;
                let rows = rows?;
                writer.write(&rows).with("rewritten", &task.data_file.path)?;
                counted.add(rows.num_rows());
            }
            counted.end();
            Ok(())
        })
    });
    match written {
        Ok(()) => writer.finish(),
        Err(e) => {
            let _ = writer.abort();
            Err(e)
        }
    }
}

/// The files of a bucket in the order in which they were made.
fn in_order(bucket: &BucketFiles) -> Vec<&ScanTask> {
    let mut files: Vec<(Option<i64>, &ScanTask)> =
        bucket.files.iter().map(|f| f.creation_time_ms).zip(&bucket.tasks).collect();
    files.sort_by_key(|(created_ms, _)| *created_ms);
    files.into_iter().map(|(_, task)| task).collect()
}

/// Whether the rows of a table wait for their buckets.
pub(crate) fn waits(options: &Options<'_>) -> Result<bool> {
    Ok(options.bucket()? == POSTPONE_BUCKET)
}

/// Files of real buckets: those that rows wait in are not compacted as they are.
pub(crate) fn placed(buckets: Vec<BucketFiles>) -> Vec<BucketFiles> {
    buckets.into_iter().filter(|bucket| bucket.bucket != POSTPONE_BUCKET).collect()
}
