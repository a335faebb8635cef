//! Compaction of tables without primary key: joins small files, in their order where the table has buckets.
//!
//! Source: Java's `AppendCompactCoordinator`, `BucketedAppendCompactManager`.

use std::collections::BTreeMap;

use super::compact_job::{CompactGroup, CompactJob, CompactOutcome, CompactWork, tasks_of};
use crate::data::read::task::{CountedBytes, read_task};
use crate::error::{Error, Result, ResultExt};
use crate::paimon::plan::compact_plan::BucketFiles;
use crate::paimon::rows::tracking::with_tracking;
use crate::paimon::write::bucket_writer::{BucketPlace, BucketRole, BucketWriter};
use crate::paimon::write::properties::file_sizes;
use crate::parallel::check_cancelled;

/// The least number of files to compact when all files of a bucket may be compacted.
const FEWEST_OF_ALL: usize = 3;

/// The options for tables without primary key.
struct AppendRules {
    target: i64,
    /// Smaller files are compacted.
    small: i64,
    open_cost: i64,
    min_files: usize,
    delete_ratio: f64,
    rewrites_all: bool,
    vectors: bool,
}

impl AppendRules {
    fn new(job: &CompactJob) -> Result<AppendRules> {
        let options = job.options();
        let ratio = options.get("compaction.delete-ratio-threshold").unwrap_or("0.2");
        let delete_ratio = ratio.trim().parse().map_err(|_| {
            Error::invalid(format!("'{ratio}' is not a number between 0 and 1"))
                .with("option", "compaction.delete-ratio-threshold")
        })?;
        let sizes = file_sizes(&options, false)?;
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let min_files = options.integer("compaction.min.file-num")?.unwrap_or(5);
        Ok(AppendRules {
            target: signed(sizes.target),
            small: signed(sizes.small),
            open_cost: options.open_file_cost_bytes()?,
            min_files: usize::try_from(min_files).unwrap_or(0),
            delete_ratio,
            rewrites_all: options.boolean("compaction.force-rewrite-all-files", false)?,
            vectors: options.deletion_vectors()?,
        })
    }
}

impl CompactJob {
    pub(crate) fn append_groups(&self, minor: bool) -> Result<Vec<CompactGroup>> {
        let rules = AppendRules::new(self)?;
        let bucketed = self.options().bucket()? > 0;
        let mut groups = Vec::new();
        for (number, bucket) in self.buckets.iter().enumerate() {
            let files = BucketFilePicker { bucket, rules: &rules };
            let picked = match (bucketed, minor) {
                (false, _) => files.packed(),
                (true, true) => files.neighbours(),
                (true, false) => files.all(),
            };
            groups.extend(
                picked.into_iter().map(|files| CompactGroup { bucket: number, work: CompactWork::Append(files) }),
            );
        }
        Ok(groups)
    }

    pub(crate) fn compact_append(
        &self,
        bucket: &BucketFiles,
        place: &BucketPlace<'_>,
        files: &[usize],
    ) -> Result<CompactOutcome> {
        let tracked = match self.options().row_tracking()? {
            true => Some(with_tracking(&self.schema)?),
            false => None,
        };
        let place = &BucketPlace { schema: tracked.as_ref().unwrap_or(&self.schema), ..place.clone() };
        let first = files.first().and_then(|at| bucket.files.get(*at)).map_or(0, |f| f.min_sequence_number);
        let mut writer = BucketWriter::new(place, BucketRole::Append(first))?;
        let tasks = tasks_of(bucket, files);
        for task in &tasks {
            let mut counted = CountedBytes::of([task]);
            for batch in read_task(&place.store, &self.context, task, &self.cache)? {
                check_cancelled()?;
                let batch = batch?;
                writer.write(&batch).with("rewritten", &task.data_file.path)?;
                counted.add(batch.num_rows());
            }
            counted.end();
        }
        let mut added = writer.finish()?;
        if let Some(schema) = tracked {
            let names: Vec<String> = schema.fields.iter().map(|f| f.name.clone()).collect();
            let bucket_file = added.iter_mut().flat_map(|file| &mut file.file.bucket_file);
            bucket_file.for_each(|bucket_file| bucket_file.write_columns = Some(names.clone()));
        }
        Ok(CompactOutcome {
            removed: tasks.iter().map(|task| task.data_file.as_ref().clone()).collect(),
            added,
            ..CompactOutcome::default()
        })
    }
}

/// The files of a bucket, to be picked from.
struct BucketFilePicker<'a> {
    bucket: &'a BucketFiles,
    rules: &'a AppendRules,
}

impl BucketFilePicker<'_> {
    fn size(&self, at: usize) -> i64 {
        self.bucket.files.get(at).map_or(0, |f| f.file_size)
    }

    /// How many rows of a file are deleted; `None` if it has no deletion vector or that was not recorded.
    fn deleted(&self, at: usize) -> Option<Option<i64>> {
        let vector = self.bucket.tasks.get(at)?.deletes.first()?;
        Some(Some(vector.file.record_count).filter(|n| *n >= 0))
    }

    fn has_vector(&self, at: usize) -> bool {
        self.rules.vectors && self.deleted(at).is_some()
    }

    fn is_small(&self, at: usize) -> bool {
        self.size(at) < self.rules.small
    }

    fn has_many_deleted(&self, at: usize) -> bool {
        let rows = self.bucket.files.get(at).map_or(0, |f| f.row_count);
        self.rules.vectors
            && match self.deleted(at) {
                None => false,
                Some(None) => true,
                Some(Some(deleted)) => deleted as f64 > rows as f64 * self.rules.delete_ratio,
            }
    }

    /// Groups in any order: bins of small files. Files with deletion vectors in one index file stay together.
    fn packed(&self) -> Vec<Vec<usize>> {
        let wanted = |at: &usize| self.is_small(*at) || self.has_many_deleted(*at);
        let files: Vec<usize> = (0..self.bucket.files.len()).filter(wanted).collect();
        let (deleted, rest): (Vec<usize>, Vec<usize>) = files.into_iter().partition(|at| self.has_vector(*at));
        let mut by_index: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in deleted {
            let index = self.bucket.tasks.get(at).and_then(|t| t.deletes.first()).map(|d| d.file.path.clone());
            by_index.entry(index.unwrap_or_default()).or_default().push(at);
        }
        let mut out = self.bins(by_index.into_values().collect(), true);
        out.extend(self.bins(rest.into_iter().map(|at| vec![at]).collect(), false));
        out.iter_mut().for_each(|bin| bin.sort_unstable());
        out
    }

    /// Bins that are worth it; with `always`, the last one is too.
    fn bins(&self, mut items: Vec<Vec<usize>>, always: bool) -> Vec<Vec<usize>> {
        items.sort_by_key(|files| files.iter().map(|at| self.size(*at)).fold(0, i64::saturating_add));
        let (mut out, mut bin, mut filled) = (Vec::new(), Vec::new(), 0i64);
        for files in items {
            for at in files {
                filled = filled.saturating_add(self.size(at)).saturating_add(self.rules.open_cost);
                bin.push(at);
            }
            if bin.len() > 1 && filled >= self.rules.target.saturating_mul(2) {
                out.push(std::mem::take(&mut bin));
                filled = 0;
            }
        }
        if !bin.is_empty() && (always || bin.len() >= self.rules.min_files.max(2)) {
            out.push(bin);
        }
        out
    }

    /// The files of a bucket, the first rows first.
    fn in_order(&self) -> Vec<usize> {
        let mut files: Vec<usize> = (0..self.bucket.files.len()).collect();
        files.sort_by_key(|at| self.bucket.files.get(*at).map(|f| f.min_sequence_number));
        files
    }

    /// All files after the first ones that need no compaction.
    fn all(&self) -> Vec<Vec<usize>> {
        let rules = self.rules;
        let is_fine = |at: &usize| !rules.rewrites_all && !self.is_small(*at) && !self.has_vector(*at);
        let files: Vec<usize> = self.in_order().into_iter().skip_while(is_fine).collect();
        let small = files.iter().filter(|at| self.is_small(**at)).count();
        let is_worth = match &files[..] {
            [] => false,
            _ if rules.rewrites_all => true,
            [only] if rules.vectors => self.has_vector(*only),
            _ if rules.vectors => true,
            files => small > files.len() - small && files.len() >= FEWEST_OF_ALL,
        };
        if is_worth { vec![files] } else { Vec::new() }
    }

    /// The first neighbours that are small together.
    fn neighbours(&self) -> Vec<Vec<usize>> {
        let (mut picked, mut filled) = (std::collections::VecDeque::new(), 0i64);
        for at in self.in_order() {
            picked.push_back(at);
            filled = filled.saturating_add(self.size(at));
            if picked.len() >= self.rules.min_files {
                return vec![picked.into()];
            }
            if filled >= self.rules.target.saturating_mul(2)
                && let Some(first) = picked.pop_front()
            {
                filled = filled.saturating_sub(self.size(first));
            }
        }
        Vec::new()
    }
}
