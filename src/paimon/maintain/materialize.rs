//! Writes rows again without those that deletion vectors delete, in tables whose columns are in several files. The
//! rows that are left get new ids.
//!
//! Neighbours of such files are written with them as long as the new file stays below the target size. Global indexes
//! of these partitions are taken out, because they name rows by their old ids.
//!
//! Source: Java's `DataEvolutionDeletionVectorMaterializeCoordinator`, `DataEvolutionMaterializeDeletionCompactTask`,
//! `DataEvolutionCompactGlobalIndexDropper`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use super::compact_job::{CompactGroup, CompactJob, CompactOutcome, CompactWork};
use super::compaction::{merged, partition_filter};
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::task::{CountedBytes, read_task};
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::maintenance::{Compacted, Materialization};
use crate::format::request::ScanRequest;
use crate::format::task::{FileSource, ReadContext};
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::manifest::entries::DELETE;
use crate::paimon::manifest::index_manifest::{IndexEntry, read_index_manifest};
use crate::paimon::plan::compact_plan::{
    BucketFiles, RowGroup, bucket_files, check_no_parts, row_groups, task_of_group,
};
use crate::paimon::spec::data_type::TypeKind;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::bucket_writer::{BucketPlace, BucketRole, BucketWriter};
use crate::paimon::write::properties::target_bytes;
use crate::parallel::{Phase, begin_phase, check_cancelled, expect_total};
use crate::store::Unsynced;
use crate::types::options::Options;

impl PaimonTable {
    /// Applies the deletion vectors of some partitions, in one commit. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for tables without deletion vectors or without columns in several files, and for filters that ask
    /// for more than partition columns; `Unsupported` for files of blobs; `CommitConflict` if other commits changed the
    /// same rows each time; as [`PaimonTable::compact`].
    pub(crate) fn materialize_deletion_vectors(&self, options: &Materialization) -> Result<(PaimonTable, Compacted)> {
        let table = self.newest_of(options.commit.branch.as_deref())?;
        let mut done = Compacted::default();
        let mut plan = || -> Result<Option<Commit>> {
            let job = CompactJob::of_deleted_rows(table.refresh()?, options)?;
            done = job.counted();
            if options.dry_run || job.groups.is_empty() {
                return Ok(None);
            }
            let _phase = begin_phase(Phase::Compacting, 0);
            expect_total(Phase::Compacting, || done.rewritten_bytes);
            let changes = job.run().and_then(|outcomes| job.changes(outcomes));
            let changes = changes.and_then(|mut changes| {
                changes.index.extend(job.stale_indexes()?);
                check_cancelled().map(|()| changes)
            });
            let changes = changes.inspect_err(|_| job.clean_up())?;
            done.count(&changes);
            done.commits = 1;
            let commit = Commit::new(job.table.folder(), changes).compacting().owning_files();
            Ok(Some(commit.with_properties(options.commit.snapshot_properties.clone())))
        };
        let table = match run_planned(&mut plan).into_result()? {
            Some(_) => self.after_commit()?,
            None => self.refresh()?,
        };
        Ok((table, done))
    }
}

/// Refuses tables without deleted rows that can be written again.
fn check(schema: &TableSchema, options: &Options<'_>) -> Result<()> {
    let wrong = |what: &str, hint: &str| Err(Error::invalid(what).hint(hint));
    if schema.has_primary_key() || !options.data_evolution()? {
        return wrong(
            "only tables whose columns are in several files have deletion vectors applied this way",
            "Use table.maintain.compact() for other tables",
        );
    }
    if !options.deletion_vectors()? {
        return wrong("the table has no deletion vectors", "Set the option 'deletion-vectors.enabled' to true");
    }
    let no =
        |what: &str| Err(Error::unsupported(format!("{what} are not written again yet")).hint("Java Paimon does it"));
    if schema.fields.iter().any(|f| f.ty.kind == TypeKind::Blob) {
        return no("rows with columns of type BLOB");
    }
    if options.get("data-file.external-paths").is_some_and(|p| !p.trim().is_empty()) {
        return no("files outside of the table");
    }
    Ok(())
}

impl CompactJob {
    /// Plans to write rows again where deletion vectors delete some.
    fn of_deleted_rows(table: PaimonTable, given: &Materialization) -> Result<CompactJob> {
        let schema = table.table_schema().clone();
        let options = merged(&table, &given.options)?;
        check(&schema, &Options(&options)).with("table", table.location())?;
        let filter = partition_filter(&table, given.filter.as_ref())?;
        let context = table.scan_newest(ScanRequest::default())?.context().clone();
        let context = Arc::new(ReadContext { projection: schema.columns().clone(), ..context.as_ref().clone() });
        let phase = begin_phase(Phase::Planning, 0);
        let buckets = bucket_files(table.metadata(), &schema, &filter, None)?;
        drop(phase);
        let (cache, completed, unsynced) = (DeleteCache::default(), Mutex::default(), Unsynced::new(table.location()));
        let stays = Arc::new(BoundPredicate::True);
        let mut job = CompactJob {
            table,
            schema,
            options,
            context,
            cache,
            buckets,
            stays,
            groups: Vec::new(),
            completed,
            unsynced,
        };
        for (number, bucket) in job.buckets.iter().enumerate() {
            let bins = job.bins(bucket).with("table", job.table.location())?;
            let groups = bins.into_iter().map(|bin| CompactGroup { bucket: number, work: CompactWork::Deleted(bin) });
            job.groups.extend(groups.collect::<Vec<_>>());
        }
        Ok(job)
    }

    /// Groups of neighbours that are written together. Each bin has deleted rows.
    fn bins(&self, bucket: &BucketFiles) -> Result<Vec<Vec<RowGroup>>> {
        if bucket.tasks.iter().all(|task| task.deletes.is_empty()) {
            return Ok(Vec::new());
        }
        let target = i64::try_from(target_bytes(&self.options(), false)?).unwrap_or(i64::MAX);
        let open_cost = self.options().open_file_cost_bytes()?;
        let (mut out, mut bin, mut filled, mut end) = (Vec::new(), Vec::new(), 0i64, None);
        check_no_parts(bucket)?;
        for group in row_groups(bucket)? {
            let weight = weight(bucket, &group, open_cost);
            let apart = end.is_some_and(|end: i64| end.checked_add(1) != Some(group.rows.0));
            if apart || weight > target {
                out.push(std::mem::take(&mut bin));
                filled = 0;
            }
            end = Some(group.rows.1);
            bin.push(group);
            filled = filled.saturating_add(weight);
            if filled > target {
                out.push(std::mem::take(&mut bin));
                filled = 0;
            }
        }
        out.push(bin);
        out.retain(|bin| bin.iter().any(|group| group.has_vector(bucket)));
        Ok(out)
    }

    /// Writes the rows of some groups that are not deleted.
    pub(crate) fn write_undeleted(
        &self,
        bucket: &BucketFiles,
        place: &BucketPlace<'_>,
        groups: &[RowGroup],
    ) -> Result<CompactOutcome> {
        let mut writer = BucketWriter::new(place, BucketRole::Append(0))?;
        for group in groups {
            let task = task_of_group(bucket, group)?;
            let mut counted = CountedBytes::of([&task]);
            for batch in read_task(&place.store, &self.context, &task, &self.cache)? {
                check_cancelled()?;
                let batch = batch?;
                writer.write(&batch).with("rewritten", &task.data_file.path)?;
                counted.add(batch.num_rows());
            }
            counted.end();
        }
        let mut added = writer.finish()?;
        for new in &mut added {
            // As for rows that are written for the first time: the commit gives them their ids and its number.
            new.source = FileSource::Append;
            if let Some(bucket_file) = &mut new.file.bucket_file {
                (bucket_file.min_sequence_number, bucket_file.max_sequence_number) = (0, 0);
            }
        }
        let files = groups.iter().flat_map(|group| &group.files).filter_map(|at| bucket.tasks.get(*at));
        Ok(CompactOutcome {
            removed: files.map(|task| task.data_file.as_ref().clone()).collect(),
            added,
            ..CompactOutcome::default()
        })
    }

    /// Takes out the global indexes of the partitions in which rows get new ids.
    fn stale_indexes(&self) -> Result<Vec<IndexEntry>> {
        let manifest = self.table.metadata().snapshot.as_ref().and_then(|s| s.index_manifest.as_deref());
        let Some(manifest) = manifest else { return Ok(Vec::new()) };
        let buckets = self.groups.iter().filter_map(|group| self.buckets.get(group.bucket));
        let partitions: HashSet<&[u8]> = buckets.map(|bucket| &*bucket.partition_row).collect();
        let mut entries = read_index_manifest(self.table.folder().manifests(), manifest)?;
        entries.retain(|entry| entry.global.is_some() && partitions.contains(&entry.partition[..]));
        Ok(entries.into_iter().map(|entry| IndexEntry { kind: DELETE, ..entry }).collect())
    }
}

/// What the rows of a group that are left will weigh: the bytes of its files, in proportion, or the cost of opening
/// each.
fn weight(bucket: &BucketFiles, group: &RowGroup, open_cost: i64) -> i64 {
    let rows = (group.rows.1 - group.rows.0).saturating_add(1);
    let deleted = group.vectors(bucket).iter().map(|d| d.file.record_count.clamp(0, rows)).fold(0, i64::saturating_add);
    let left = (rows - deleted.min(rows)) as f64 / rows.max(1) as f64;
    let sizes = group.files.iter().filter_map(|at| bucket.files.get(*at)).map(|f| f.file_size);
    sizes.map(|size| ((size as f64 * left).ceil() as i64).max(open_cost)).fold(0, i64::saturating_add)
}
