//! The changes between two snapshots: the files that appends added, the changelog files that commits wrote, or the
//! difference of two states.
//!
//! Files of appends and changelogs are read one by one, with their rows unchanged; deletion vectors don't apply. A
//! difference is taken bucket by bucket, from the files that only one of the states has, as in Java.
//!
//! Commits with expired snapshots count as long as their changelogs are kept. In Java only streams read those.
//!
//! Source: Java's `IncrementalDeltaStartingScanner`, `IncrementalDiffStartingScanner`, `SnapshotReaderImpl` and
//! `NextSnapshotFetcher`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::buckets::{PlannedBuckets, PlannedEntry, live_files};
use super::deletes::DeletionVectors;
use super::evolution::is_part;
use super::files::{BatchJudge, FilePruner, JudgedEntries};
use super::index::drop_by_index_files;
use super::input::PaimonPlanInput;
use super::planned::{PaimonPlan, PaimonPlanCounters, PlannedSplit, count, files_of};
use super::rules::PlanRules;
use super::splits::Splitter;
use super::travel::{Between, ChangeMode};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::task::{ChangeOperation, ScanTask, TaskChange};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::reachable::is_still_told;
use crate::paimon::manifest::entries::{DELETE, PaimonEntryRequest};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{EntryJudge, changelog_manifests, data_manifests, delta_manifests, read_manifest};
use crate::paimon::spec::partition::manifest_path;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::check_cancelled;
use crate::store::in_parallel;

/// Plans changes. The snapshot of `input` does not matter; its schema and options are those of the scan.
///
/// # Errors
/// As [`super::planner::plan`]; `NotFound` if a snapshot between them and its changelog have expired; `Unsupported`
/// for changes that Java can't report either.
pub fn plan_changes(input: &PaimonPlanInput, folder: &TableFolder, between: &Between) -> Result<PaimonPlan> {
    let planned = match between.mode {
        ChangeMode::Delta => listed(input, folder, between, &PlanRules::of_delta(input)?),
        ChangeMode::Changelog => listed(input, folder, between, &PlanRules::of_changelog(input)?),
        ChangeMode::Diff => difference(input, between),
    };
    planned.with("after snapshot", between.start).with("snapshot", between.end.id)
}

/// Hint for a commit that has expired.
const KEPT: &str = "Changes are known only as far back as snapshots or their changelogs are kept. Rows that commits added are known only if \
                    the table had no changelog producer when they expired. Without since=, the scan reads all changes that are kept";

/// The commits whose files count. If a commit's snapshot has expired, its changelog is read, where changelogs are
/// kept longer.
fn commits(folder: &TableFolder, between: &Between) -> Result<Vec<Arc<PaimonSnapshot>>> {
    let first = between.start.saturating_add(1);
    let count = usize::try_from(between.end.id.saturating_sub(first)).unwrap_or_default();
    let before_end = in_parallel(folder.store().as_ref(), count, |i| {
        folder.commit_left(first.saturating_add(i as i64)).map(Arc::new).hint(KEPT)
    })?;
    Ok(before_end.into_iter().chain([between.end.clone()]).filter(|s| counts(between.mode, s)).collect())
}

/// Whether the files of a commit count: appends alone for [`ChangeMode::Delta`], none that overwrite for
/// [`ChangeMode::Changelog`].
fn counts(mode: ChangeMode, commit: &PaimonSnapshot) -> bool {
    match mode {
        ChangeMode::Delta => commit.commit_kind == "APPEND",
        _ => commit.commit_kind != "OVERWRITE",
    }
}

/// The number of the earliest commit from which all commits up to `end` can be reported. `None` if `end` has left
/// nothing. Files that a commit added may have been removed while the table had a changelog producer, though its
/// changelog is kept.
///
/// # Errors
/// Those of the store.
pub fn earliest_told(folder: &TableFolder, mode: ChangeMode, end: i64) -> Result<Option<i64>> {
    let lasting = folder.lasting_from()?;
    let (half, whole): (Vec<i64>, Vec<i64>) = folder.snapshot_ids()?.into_iter().partition(|id| *id < lasting);
    let half = half_told(folder, mode, &half)?;
    let changelogs = folder.changelogs()?;
    let told = in_parallel(folder.store().as_ref(), changelogs.len(), |i| {
        let Some(commit) = changelogs.get(i) else { return Ok(None) };
        let list = match mode {
            ChangeMode::Delta => Some(&commit.delta_manifest_list),
            _ => commit.changelog_manifest_list.as_ref(),
        };
        let Some(list) = list.filter(|_| counts(mode, commit)) else { return Ok(Some(commit.id)) };
        Ok(folder.store().exists(&manifest_path(folder.root(), list)?)?.then_some(commit.id))
    })?;
    let told: HashSet<i64> = told.into_iter().flatten().chain(half).chain(whole).collect();
    let mut first = end;
    while told.contains(&first.saturating_sub(1)) {
        first = first.saturating_sub(1);
    }
    Ok(told.contains(&end).then_some(first))
}

/// Half-expired snapshots with changes that are still known. They may be about to become changelogs.
fn half_told(folder: &TableFolder, mode: ChangeMode, ids: &[i64]) -> Result<Vec<i64>> {
    let mut out = Vec::new();
    for id in ids {
        let commit = match folder.commit_left(*id) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            commit => commit?,
        };
        if !counts(mode, &commit) || is_still_told(folder, &commit, mode == ChangeMode::Delta)? {
            out.push(*id);
        }
    }
    Ok(out)
}

/// The files of commits, one commit after the other.
fn listed(input: &PaimonPlanInput, folder: &TableFolder, between: &Between, rules: &PlanRules) -> Result<PaimonPlan> {
    let began = Instant::now();
    let store = input.store.as_ref();
    let commits = commits(folder, between)?;
    let lists = in_parallel(store, commits.len(), |i| {
        let Some(commit) = commits.get(i) else { return Ok(Vec::new()) };
        let found = match between.mode {
            ChangeMode::Changelog => changelog_manifests(input.manifests(), commit),
            _ => delta_manifests(input.manifests(), commit),
        };
        found.map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                let error = Error::not_found(format!("the changes of snapshot {} have expired", commit.id));
                error.with("path", &input.root).hint(KEPT).because(e)
            }
            _ => e,
        })
    })?;
    let pruner = FilePruner::new(input, rules)?;
    let mut counters = PaimonPlanCounters::default();
    let (mut manifests, mut of_commit) = (Vec::new(), Vec::new());
    for (ordinal, list) in lists.into_iter().enumerate() {
        for manifest in pruner.manifests(list, &mut counters)? {
            manifests.push(manifest);
            of_commit.push(ordinal);
        }
    }
    counters.list_ms = began.elapsed().as_secs_f64() * 1e3;
    let files = added_files(input, &pruner, &manifests)?;
    files.iter().for_each(|judged| judged.count(&mut counters));
    let buckets = PlannedBuckets::of(&pruner, &files)?;
    let deletes = DeletionVectors::default();
    let splitter = Splitter::new(input, rules, &files, &deletes)?;
    let mut splits = Vec::new();
    for (group, bucket, entries) in buckets.iter() {
        check_whole_rows(rules, &files, entries)?;
        let names =
            entries.iter().map(|e| Ok((files_name(&files, *e)?.to_owned(), *e))).collect::<Result<HashMap<_, _>>>()?;
        let change = |task: &ScanTask| -> Result<Box<TaskChange>> {
            let name = task.data_file.path.rsplit('/').next().unwrap_or_default();
            let entry = names.get(name).or_else(|| entries.first());
            let ordinal = entry.and_then(|e| of_commit.get(e.batch)).copied().unwrap_or_default();
            let commit = commits.get(ordinal).ok_or_else(|| Error::internal("a file belongs to no commit"))?;
            Ok(inserted(ordinal, commit.id))
        };
        for split in splitter.bucket(group, bucket, entries)? {
            splits.push(apart(split, &change)?);
        }
    }
    counters.files_after_values = counters.files_after_values.saturating_sub(splitter.left_out());
    let mut splits = drop_by_index_files(input, splits, &splitter.index_files())?;
    splits.retain(|s| !s.tasks.is_empty());
    count(&splits, &mut counters);
    Ok(PaimonPlan { splits, counters })
}

fn files_name(files: &[JudgedEntries], e: PlannedEntry) -> Result<&str> {
    let judged = files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?;
    // A file elsewhere keeps its name.
    Ok(match judged.columns.external(e.row)? {
        Some(path) => path.rsplit('/').next().unwrap_or_default(),
        None => judged.columns.name(e.row)?,
    })
}

fn inserted(ordinal: usize, commit_snapshot_id: i64) -> Box<TaskChange> {
    let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
    let operation = ChangeOperation::Insert;
    Box::new(TaskChange { operation, ordinal, commit_snapshot_id, removed_by: None, commit: None })
}

/// The entries of manifests. No entry may delete a file.
fn added_files(
    input: &PaimonPlanInput,
    pruner: &FilePruner<'_>,
    manifests: &[PaimonManifestFile],
) -> Result<Vec<JudgedEntries>> {
    let store = input.store.as_ref();
    let keep = |partition: &[u8], bucket, total| pruner.keeps(partition, bucket, total);
    let request = PaimonEntryRequest { keep: Some(&keep), ..pruner.request() };
    in_parallel(store, manifests.len(), |i| {
        check_cancelled()?;
        let Some(file) = manifests.get(i) else { return Ok(JudgedEntries::default()) };
        let columns = read_manifest(input.manifests(), file, &request)?;
        if columns.kind.contains(&DELETE) {
            return Err(Error::unsupported("the changes of a commit that both appends and deletes files are unknown")
                .with("manifest", &file.file_name));
        }
        let mut judge = BatchJudge::new(pruner);
        for row in columns.rows() {
            judge.wants(&columns, row).with("manifest", &file.file_name)?;
        }
        Ok(judge.end(columns))
    })
}

/// Refuses changes of tables whose columns are in several files. A commit may have added some columns of rows alone.
///
/// Source: Java's `DataEvolutionFileStoreScan` reads no changes of such rows either.
fn check_whole_rows(rules: &PlanRules, files: &[JudgedEntries], entries: &[PlannedEntry]) -> Result<()> {
    if !rules.data_evolution {
        return Ok(());
    }
    for e in entries {
        let columns = &files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns;
        let name = columns.name(e.row)?;
        if is_part(name) || columns.write_cols_of(e.row).is_some() {
            return Err(Error::unsupported("the changes of rows whose columns are in several files can't be read yet")
                .with("file", name)
                .hint("Compare two versions: table.diff(a, b, rows=True)"));
        }
    }
    Ok(())
}

/// A split of files that are read one by one, as changes.
fn apart(split: PlannedSplit, change: &dyn Fn(&ScanTask) -> Result<Box<TaskChange>>) -> Result<PlannedSplit> {
    let mut tasks = Vec::new();
    for task in &split.tasks {
        for file in files_of(task) {
            let change = Some(change(file)?);
            tasks.push(ScanTask { residual: task.residual.clone(), change, ..file.clone() });
        }
    }
    Ok(PlannedSplit { tasks, ..split })
}

/// The difference of two states.
fn difference(input: &PaimonPlanInput, between: &Between) -> Result<PaimonPlan> {
    let before = between.before.as_ref().ok_or_else(|| Error::internal("a difference without the state before"))?;
    check_buckets(input, before, &between.end)?;
    let rules = PlanRules::of_state(input)?;
    let pruner = FilePruner::new(input, &rules)?;
    let mut counters = PaimonPlanCounters::default();
    let [old, new] = [before, &between.end].map(|snapshot| -> Result<_> {
        let manifests = data_manifests(input.manifests(), snapshot)?;
        let manifests = pruner.manifests(manifests, &mut counters)?;
        let files = live_files(input, &pruner, &manifests, &mut counters)?;
        let buckets = PlannedBuckets::of(&pruner, &files)?;
        let deletes = match rules.deletion_vectors {
            true => DeletionVectors::load(input.manifests(), snapshot, &buckets.keys())?,
            false => DeletionVectors::default(),
        };
        Ok((files, buckets, deletes))
    });
    let ((old_files, old_buckets, old_deletes), (new_files, new_buckets, new_deletes)) = (old?, new?);
    let of_old = Splitter::new(input, &rules, &old_files, &old_deletes)?;
    let of_new = Splitter::new(input, &rules, &new_files, &new_deletes)?;
    let mut splits = Vec::new();
    for (group, bucket, entries) in new_buckets.iter() {
        check_cancelled()?;
        let (old, new) = (of_old.matching(old_buckets.get(&group.row, bucket)), of_new.matching(entries));
        let was = only(&old_files, &old, &new_files, &new)?;
        let is = only(&new_files, &new, &old_files, &old)?;
        if is.is_empty() {
            continue;
        }
        check_whole_rows(&rules, &new_files, &is)?;
        let change = inserted(0, between.end.id);
        if !rules.has_key {
            for split in of_new.bucket(group, bucket, &is)? {
                let tasks = split.tasks.iter().map(|t| ScanTask { change: Some(change.clone()), ..t.clone() });
                splits.push(PlannedSplit { tasks: tasks.collect(), ..split });
            }
            continue;
        }
        let place = of_new.place(group, bucket)?;
        let mut split = of_new.whole(&place, &is)?;
        let runs = of_old.runs(&of_old.place(group, bucket)?, &was)?;
        for task in &mut split.tasks {
            task.change = Some(change.clone());
            if let Some(section) = &mut task.merge {
                Arc::make_mut(section).before = Some(runs.clone());
            }
        }
        splits.push(split);
    }
    counters.files_after_values = counters.files_after_values.saturating_sub(of_new.left_out());
    count(&splits, &mut counters);
    Ok(PaimonPlan { splits, counters })
}

/// Rows must have stayed in their buckets.
fn check_buckets(input: &PaimonPlanInput, before: &PaimonSnapshot, after: &PaimonSnapshot) -> Result<()> {
    let buckets =
        |s: &PaimonSnapshot| input.schemas.get(&s.schema_id).map(|schema| schema.options().bucket()).transpose();
    let (then, now) = (buckets(before)?, buckets(after)?);
    if then != now {
        return Err(Error::unsupported("the two states can't be compared: the number of buckets changed between them"));
    }
    Ok(())
}

/// The files among `entries` that the other state lacks.
fn only(
    files: &[JudgedEntries],
    entries: &[PlannedEntry],
    other_files: &[JudgedEntries],
    others: &[PlannedEntry],
) -> Result<Vec<PlannedEntry>> {
    let no_manifest = || Error::internal("no such manifest");
    let mut known = HashSet::with_capacity(others.len());
    for e in others {
        known.insert(other_files.get(e.batch).ok_or_else(no_manifest)?.columns.identity(e.row));
    }
    let mut out = Vec::new();
    for e in entries {
        if !known.contains(&files.get(e.batch).ok_or_else(no_manifest)?.columns.identity(e.row)) {
            out.push(*e);
        }
    }
    Ok(out)
}
