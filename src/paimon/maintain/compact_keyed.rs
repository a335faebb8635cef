//! Compaction of tables with a primary key: merges the rows of a bucket by key, level by level.
//!
//! Source: Java's `MergeTreeCompactManagerFactory`, `MergeTreeCompactRewriter`, `ChangelogMergeTreeRewriter`,
//! `FullChangelogMergeTreeCompactRewriter`, `LookupMergeTreeCompactRewriter`.

use std::sync::Arc;

use super::compact_job::{CompactGroup, CompactJob, CompactOutcome, CompactWork, KeyedWork, tasks_of};
use crate::data::merge::compact::{CompactMerge, CompactionOutput, Reduction};
use crate::data::read::task::CountedBytes;
use crate::error::{Error, Result};
use crate::format::task::ScanTask;
use crate::paimon::plan::compact_pick::{Levels, PickRules};
use crate::paimon::plan::compact_plan::{BucketFiles, CompactSection, CompactStep, key_sections, steps};
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::write::bucket_writer::{BucketPlace, BucketRole, BucketWriter};
use crate::paimon::write::properties::{by_level, target_bytes};
use crate::parallel::check_cancelled;

/// The producers of changelogs that work in compactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Producer {
    None,
    FullCompaction,
    Lookup,
}

impl CompactJob {
    pub(crate) fn keyed_groups(&self, minor: bool) -> Result<Vec<CompactGroup>> {
        let options = self.options();
        let rules = PickRules::new(&options)?;
        let small_bytes = i64::try_from(target_bytes(&options, true)?).unwrap_or(i64::MAX) / 10 * 7;
        let vectors = options.deletion_vectors()?;
        self.check_producer()?;
        let mut groups = Vec::new();
        for (number, bucket) in self.buckets.iter().enumerate() {
            let levels = Levels::new(&bucket.files, rules.levels);
            let has_vector = |at: usize| bucket.tasks.get(at).is_some_and(|task| !task.deletes.is_empty());
            let is_due = |at: usize| bucket.due.contains(&at) || has_vector(at);
            let unit = if minor { rules.minor(&levels) } else { rules.full(&levels, is_due) };
            let Some(unit) = unit else { continue };
            let steps = steps(bucket, &levels, &unit, &rules, &self.schema, small_bytes)?;
            if steps.is_empty() {
                continue;
            }
            let drops_deletes = unit.level != 0 && (unit.level >= levels.highest() || vectors);
            let work = KeyedWork { steps, level: unit.level, drops_deletes };
            groups.push(CompactGroup { bucket: number, work: CompactWork::Keyed(work) });
        }
        Ok(groups)
    }

    fn producer(&self) -> Producer {
        match self.options.get("changelog-producer").map(|p| p.trim().to_ascii_lowercase()).as_deref() {
            Some("full-compaction") => Producer::FullCompaction,
            Some("lookup") => Producer::Lookup,
            _ => Producer::None,
        }
    }

    fn check_producer(&self) -> Result<()> {
        let options = self.options();
        if options.deletion_vectors()? && options.merge_engine()? == MergeEngine::FirstRow {
            return Err(Error::invalid("a table with the merge engine first-row can't use deletion vectors")
                .with("table", self.table.location()));
        }
        Ok(())
    }

    /// The highest level by the options, though a bucket may have more.
    fn top(&self) -> Result<i32> {
        Ok(PickRules::new(&self.options())?.levels - 1)
    }

    pub(crate) fn compact_keyed(
        &self,
        bucket: &BucketFiles,
        place: &BucketPlace<'_>,
        work: &KeyedWork,
    ) -> Result<CompactOutcome> {
        let bucket_job = BucketJob {
            job: self,
            bucket,
            place,
            work,

            top: self.top()?,
            producer: self.producer(),
            looks_up: self.options().looks_up()?,
            vectors: self.options().deletion_vectors()?,
        };
        let mut out = CompactOutcome::default();
        for step in &work.steps {
            match step {
                CompactStep::Rewrite(sections) => bucket_job.rewrite(sections, &mut out)?,
                CompactStep::Upgrade(at) => bucket_job.upgrade(*at, &mut out)?,
            }
        }
        Ok(out)
    }
}

/// A bucket that is compacted.
struct BucketJob<'a> {
    job: &'a CompactJob,
    bucket: &'a BucketFiles,
    place: &'a BucketPlace<'a>,
    work: &'a KeyedWork,

    top: i32,
    producer: Producer,
    looks_up: bool,
    vectors: bool,
}

impl BucketJob<'_> {
    fn level_of(&self, at: usize) -> i32 {
        self.bucket.files.get(at).map_or(0, |f| f.level)
    }

    /// The kind of merge that rewritten files need.
    fn reduction(&self, sections: &[CompactSection]) -> Reduction {
        let level = self.work.level;
        match self.producer {
            Producer::FullCompaction if level == self.top => Reduction::SinceTop { top: self.top },
            Producer::FullCompaction => Reduction::Rows,
            _ if self.looks_up
                && level != 0
                && sections.iter().flatten().flatten().any(|at| self.level_of(*at) == 0) =>
            {
                self.lookup()
            }
            _ => Reduction::Rows,
        }
    }

    fn lookup(&self) -> Reduction {
        Reduction::Lookup { changelog: self.producer == Producer::Lookup, vectors: self.vectors }
    }

    fn rewrite(&self, sections: &[CompactSection], out: &mut CompactOutcome) -> Result<()> {
        self.merge(sections, self.reduction(sections), self.work.drops_deletes, true, out)
    }

    /// Gives a file another level. The file stays as it is, unless a rule requires new files.
    fn upgrade(&self, at: usize, out: &mut CompactOutcome) -> Result<()> {
        let (level, from) = (self.work.level, self.level_of(at));
        let sections = [vec![vec![at]]];
        match self.producer {
            Producer::FullCompaction if level == self.top => {
                return self.merge(&sections, Reduction::SinceTop { top: self.top }, false, false, out);
            }
            Producer::FullCompaction => {}
            _ if self.looks_up && from == 0 => {
                let rewrites = self.rewrites_upgraded(at)?;
                // Without higher levels and without a changelog, no look-up is needed.
                let needs_rows = rewrites || self.producer == Producer::Lookup || !self.above(level).is_empty();
                if needs_rows {
                    return self.merge(&sections, self.lookup(), self.vectors, rewrites, out);
                }
            }
            _ => {}
        }
        self.move_up(at, out);
        Ok(())
    }

    fn move_up(&self, at: usize, out: &mut CompactOutcome) {
        let file = self.bucket.tasks.get(at).map(|task| task.data_file.as_ref().clone());
        out.moved.extend(file.map(|file| (file, self.work.level)));
    }

    /// Whether a file of level 0 has to be rewritten to get another level, in tables that look rows up.
    fn rewrites_upgraded(&self, at: usize) -> Result<bool> {
        let options = self.job.options();
        let level = self.work.level;
        let format =
            |level| by_level(&options, "file.format.per.level", level).map_or(options.file_format(), str::to_lowercase);
        let deletes = self.bucket.files.get(at).is_some_and(|f| f.delete_row_count != Some(0));
        if format(self.level_of(at)) != format(level) || (self.vectors && deletes) {
            return Ok(true);
        }
        let keeps_latest = options.merge_engine()? == MergeEngine::Deduplicate && options.sequence_fields().is_empty();
        Ok(level != self.top && !keeps_latest)
    }

    /// The files above a level, as runs: one for each level.
    fn above(&self, level: i32) -> Vec<Vec<usize>> {
        let mut files: Vec<usize> = (0..self.bucket.files.len()).filter(|at| self.level_of(*at) > level).collect();
        files.sort_by_key(|at| self.level_of(*at));
        files.chunk_by(|a, b| self.level_of(*a) == self.level_of(*b)).map(<[usize]>::to_vec).collect()
    }

    /// Runs of the files above that may have keys of a section, lower levels first.
    fn above_section(&self, section: &CompactSection) -> Result<Vec<Vec<ScanTask>>> {
        let mut out = Vec::new();
        let inputs: Vec<usize> = section.iter().flatten().copied().collect();
        for run in self.above(self.work.level) {
            let both: Vec<usize> = inputs.iter().chain(&run).copied().collect();
            // Files of the level that are in a section with others share keys with them.
            let sections = key_sections(self.bucket, &both, &self.job.schema)?;
            let mut overlapping: Vec<usize> = Vec::new();
            for section in sections.iter().filter(|s| s.iter().flatten().any(|at| inputs.contains(at))) {
                overlapping.extend(section.iter().flatten().filter(|at| run.contains(at)));
            }
            let ordered = key_sections(self.bucket, &overlapping, &self.job.schema)?;
            let ordered: Vec<usize> = ordered.into_iter().flatten().flatten().collect();
            if !ordered.is_empty() {
                out.push(tasks_of(self.bucket, &ordered));
            }
        }
        Ok(out)
    }

    /// Merges sections: into new files with `writes`, else only to find the changes.
    fn merge(
        &self,
        sections: &[CompactSection],
        reduction: Reduction,
        drops_deletes: bool,
        writes: bool,
        out: &mut CompactOutcome,
    ) -> Result<()> {
        let files: Vec<usize> = sections.iter().flatten().flatten().copied().collect();
        let first = files.first().and_then(|at| self.bucket.tasks.get(*at));
        let first = first.ok_or_else(|| Error::internal("a compaction has no files"))?;
        let mut merge = CompactMerge::new(&self.job.context, first, reduction, drops_deletes)?;
        merge = merge.keeping(self.job.stays.clone());
        let options = self.job.options();
        if options.boolean("changelog-producer.row-deduplicate", false)? {
            merge = merge.comparing(&options.list("changelog-producer.row-deduplicate-ignore-fields"));
        }
        let mut rows =
            if writes { Some(BucketWriter::new(self.place, BucketRole::Level(self.work.level))?) } else { None };
        let tells = match reduction {
            Reduction::Rows => false,
            Reduction::SinceTop { .. } => true,
            Reduction::Lookup { changelog, .. } => changelog,
        };
        let mut changelog =
            if tells { Some(BucketWriter::new(self.place, BucketRole::Changelog(self.work.level))?) } else { None };
        for section in sections {
            let runs: Vec<Vec<ScanTask>> = section.iter().map(|run| tasks_of(self.bucket, run)).collect();
            let above = match reduction {
                Reduction::Lookup { .. } => self.above_section(section)?,
                _ => Vec::new(),
            };
            let mut counted = CountedBytes::of(runs.iter().flatten());
            for batch in merge.rows(&self.place.store, &self.job.cache, &runs, &above)? {
                check_cancelled()?;
                let CompactionOutput { rows: merged, changelog: changed, deleted } = batch?;
                counted.add(merged.num_rows());
                rows.iter_mut().try_for_each(|writer| writer.write(&merged))?;
                changelog.iter_mut().try_for_each(|writer| writer.write(&changed))?;
                delete(deleted, out)?;
            }
            counted.end();
        }
        match rows {
            Some(writer) => {
                out.added.extend(writer.finish()?);
                out.removed.extend(tasks_of(self.bucket, &files).iter().map(|t| t.data_file.as_ref().clone()));
            }
            None => files.iter().for_each(|at| self.move_up(*at, out)),
        }
        out.changelog.extend(changelog.map(BucketWriter::finish).transpose()?.into_iter().flatten());
        Ok(())
    }
}

fn delete(deleted: Vec<(Arc<str>, u64)>, out: &mut CompactOutcome) -> Result<()> {
    for (path, position) in deleted {
        let position = i64::try_from(position).map_err(|_| Error::internal("the position of a row is too large"))?;
        out.deleted.entry(path).or_default().extend(&[position])?;
    }
    Ok(())
}
