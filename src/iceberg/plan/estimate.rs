//! Estimates the cost of planning from the manifest list alone.

use crate::format::estimate::Estimate;
use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::expr::BoundPredicate;
use crate::format::manifest_count::ManifestCount;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::changes::{ChangesPlan, is_by, manifests_of};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::plan_cache::cache::PlanCache;
use crate::iceberg::plan::planner::WAVE_BYTES;
use crate::iceberg::plan::why::{ManifestVerdict, ReasonJudge, Stage};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::check_cancelled;

/// Memory of a decoded entry: its fixed columns and a path of average length.
const ENTRY_BYTES: u64 = 300;
/// Additional memory for each column of the filter: counts and bounds.
const METRIC_BYTES: u64 = 80;
/// Memory of a task in a result table without dictionary compression: numbers and a path of average length.
const TASK_BYTES: u64 = 200;
/// Memory of a delete file in the index, not counting its entry.
const DELETE_BYTES: u64 = 300;

/// The manifests to open, each with the entries to search for.
type OpenedManifests<'m> = Vec<(&'m ManifestFile, &'m EntryScope)>;

impl Estimate {
    /// Estimates a plan of these entries with this filter over the judged manifests.
    pub fn new(
        verdicts: &[ManifestVerdict],
        scope: &EntryScope,
        filter: &BoundPredicate,
        cache: Option<&PlanCache>,
    ) -> Estimate {
        let kept = |content| {
            let of = verdicts.iter().filter(move |v| v.stage == Stage::Kept && v.manifest.content == content);
            of.map(|v| (&v.manifest, scope)).collect::<OpenedManifests<'_>>()
        };
        let (data, mut deletes) = (kept(ManifestContent::Data), kept(ManifestContent::Deletes));
        if data.is_empty() {
            deletes.clear();
        }
        let mut out = Estimate::of(&data, &deletes, filter, cache);
        verdicts.iter().for_each(|v| out.list(&v.manifest));
        out
    }

    fn of(
        data: &OpenedManifests<'_>,
        deletes: &OpenedManifests<'_>,
        filter: &BoundPredicate,
        cache: Option<&PlanCache>,
    ) -> Estimate {
        let count =
            |opened: &OpenedManifests<'_>| opened.iter().map(|(m, _)| m.length_bytes).collect::<ManifestCount>();
        let files = |(m, scope): &(&ManifestFile, &EntryScope)| {
            scope.count(m.added_files_count, m.existing_files_count, m.deleted_files_count)
        };
        let rows = |(m, scope): &(&ManifestFile, &EntryScope)| {
            scope.count(m.added_rows_count, m.existing_rows_count, m.deleted_rows_count)
        };
        let (of_data, of_deletes) = (count(data), count(deletes));
        let mut out = Estimate {
            bytes: of_data.bytes.saturating_add(of_deletes.bytes),
            data_manifests: of_data.manifests,
            delete_manifests: of_deletes.manifests,
            data_files: data.iter().map(files).try_fold(0, add),
            rows: data.iter().map(rows).try_fold(0, add),
            delete_files: deletes.iter().map(files).try_fold(0, add),
            cached_manifests: cache.map(|c| data.iter().chain(deletes).filter(|(m, _)| c.has(m)).count() as u64),
            cache_trouble: cache.and_then(PlanCache::trouble),
            ..Estimate::default()
        };
        out.estimate_memory(of_data.bytes, filter);
        out
    }

    fn list(&mut self, m: &ManifestFile) {
        self.total_manifests += 1;
        self.total_bytes = self.total_bytes.saturating_add(m.length_bytes.max(0).unsigned_abs());
    }

    /// Adds a plan that runs after this one. Only the tasks of this one are still in memory then.
    fn add(&mut self, then: &Estimate) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.bytes = self.bytes.saturating_add(then.bytes);
        self.data_manifests += then.data_manifests;
        self.delete_manifests += then.delete_manifests;
        self.data_files = sum(self.data_files, then.data_files);
        self.rows = sum(self.rows, then.rows);
        self.delete_files = sum(self.delete_files, then.delete_files);
        self.cached_manifests = sum(self.cached_manifests, then.cached_manifests);
        self.cache_trouble = then.cache_trouble.clone().or(self.cache_trouble.take());
        let larger = self.streamed_memory_bytes.zip(then.streamed_memory_bytes).map(|(a, b)| a.max(b));
        self.streamed_memory_bytes = larger;
        let tasks = self.data_files.map(|files| files.saturating_mul(TASK_BYTES));
        self.table_memory_bytes = sum(larger, tasks);
    }

    /// Estimates memory. A streamed plan holds one wave of manifests and the index of all deletes.
    fn estimate_memory(&mut self, data_bytes: u64, filter: &BoundPredicate) {
        let (Some(files), Some(deletes)) = (self.data_files, self.delete_files) else { return };
        let entry = METRIC_BYTES.saturating_mul(filter.field_ids().len() as u64).saturating_add(ENTRY_BYTES);
        let wave = data_bytes.min(WAVE_BYTES.unsigned_abs());
        let share = |files: u64| (u128::from(files) * u128::from(wave) / u128::from(data_bytes.max(1))) as u64;
        let index = deletes.saturating_mul(entry + DELETE_BYTES).saturating_add(self.bytes - data_bytes);
        let streamed = wave.saturating_add(share(files).saturating_mul(entry)).saturating_add(index);
        self.streamed_memory_bytes = Some(streamed);
        self.table_memory_bytes = Some(streamed.saturating_add(files.saturating_mul(TASK_BYTES)));
    }
}

/// Estimates the changelog of these snapshots. The data files to which a commit's deletes apply are not known before
/// reading. Bytes and manifests are therefore upper bounds.
///
/// # Errors
/// Errors of reading the manifest lists; cancellation.
pub fn estimate_changes(input: &PlanInput, snapshots: &[Arc<Snapshot>]) -> Result<Estimate> {
    let zero = Some(0);
    let mut out = Estimate {
        at_most: true,
        cached_manifests: input.cache.is_some().then_some(0),
        data_files: zero,
        rows: zero,
        delete_files: zero,
        streamed_memory_bytes: zero,
        table_memory_bytes: zero,
        ..Estimate::default()
    };
    let mut listed = HashSet::new();
    for (_, snapshot) in ChangesPlan::new(input.clone(), snapshots).commits() {
        check_cancelled()?;
        let all = manifests_of(input, snapshot)?;
        all.iter().filter(|m| listed.insert(m.path.clone())).for_each(|m| out.list(m));
        let commit = estimate_commit(input, snapshot, &all)?;
        out.add(&commit);
    }
    Ok(out)
}

/// The largest number of times that planning looks at the manifests of one commit.
fn estimate_commit(input: &PlanInput, snapshot: &Snapshot, all: &[ManifestFile]) -> Result<Estimate> {
    let this = Arc::new(HashSet::from([snapshot.id]));
    let (added, removed) = (EntryScope::AddedBy(this.clone()), EntryScope::RemovedBy(this));
    let (before, live, kept) = (EntryScope::Before(snapshot.id), EntryScope::Live, EntryScope::KeptBy(snapshot.id));
    let (data, deletes): (Vec<_>, Vec<_>) = all.iter().partition(|m| m.content == ManifestContent::Data);
    let own = |m: &&&ManifestFile| is_by(m, snapshot.id);
    let removes = data.iter().filter(own).any(|m| removed.may_be_in(m));
    let adds_deletes = deletes.iter().filter(own).any(|m| added.may_be_in(m));
    let drops_deletes = deletes.iter().filter(own).any(|m| removed.may_be_in(m));
    let changes = adds_deletes || drops_deletes;
    // Older deletes may apply to files that claim to be older than their commit.
    let older = data.iter().filter(own).any(|m| added.may_be_in(m) && m.min_sequence_number < snapshot.sequence_number);
    let looks = [
        (&data, &removed, true, true),
        (&data, &added, true, true),
        (&data, &kept, false, changes),
        (&deletes, &added, true, true),
        (&deletes, &removed, true, true),
        (&deletes, &before, false, changes || removes),
        (&deletes, &live, false, changes || older),
    ];
    let (mut of_data, mut of_deletes) = (OpenedManifests::new(), OpenedManifests::new());
    for (manifests, scope, own_only, _) in looks.into_iter().filter(|(.., wanted)| *wanted) {
        let scoped = PlanInput { entries: scope.clone(), ..input.clone() };
        let judge = ReasonJudge::new(&scoped);
        for m in manifests.iter().filter(|m| !own_only || own(m)) {
            if judge.manifest((*m).clone())?.stage == Stage::Kept {
                let opened = if m.content == ManifestContent::Data { &mut of_data } else { &mut of_deletes };
                opened.push((m, scope));
            }
        }
    }
    let mut out = Estimate::of(&of_data, &of_deletes, &input.filter, input.cache.as_deref());
    // A file whose deletes are replaced gives two tasks: one for rows that disappeared and one for rows that came back.
    // A new deletion vector replaces older position delete files. A removed one makes them count again.
    let has_vectors = input.metadata.format_version >= 3;
    let has_older_deletes = deletes.iter().any(|m| !is_by(m, snapshot.id) || m.existing_files_count != Some(0));
    if drops_deletes && (adds_deletes || has_vectors) || adds_deletes && has_vectors && has_older_deletes {
        out.data_files = out.data_files.map(|files| files.saturating_mul(2));
    }
    // If rows keep their ids, a commit that adds and removes rows is planned a second time, to detect updates.
    let both = (changes || removes) && data.iter().filter(own).any(|m| added.may_be_in(m));
    if snapshot.first_row_id.is_some() && both {
        let (files, rows) = (out.data_files, out.rows);
        out.add(&out.clone());
        (out.data_files, out.rows) = (files, rows);
    }
    Ok(out)
}

fn add(total: u64, more: Option<u64>) -> Option<u64> {
    more.map(|more| total.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(content: ManifestContent, files: Option<i64>, stage: Stage) -> ManifestVerdict {
        let manifest = ManifestFile {
            content,
            length_bytes: 1000,
            added_files_count: files,
            existing_files_count: Some(1),
            added_rows_count: Some(i64::MAX),
            existing_rows_count: Some(5),
            ..ManifestFile::default()
        };
        ManifestVerdict { manifest, stage, reason: String::new() }
    }

    #[test]
    fn counts_what_will_be_opened() {
        use ManifestContent::{Data, Deletes};
        let of = |verdicts: &[ManifestVerdict]| Estimate::new(verdicts, &EntryScope::Live, &BoundPredicate::True, None);
        let kept = manifest(Data, Some(7), Stage::Kept);
        let pruned = manifest(Data, None, Stage::PartitionSummaries);
        let deletes = manifest(Deletes, Some(2), Stage::Kept);
        let e = of(&[kept.clone(), pruned.clone(), deletes.clone()]);
        assert_eq!((e.bytes, e.data_manifests, e.delete_manifests), (2000, 1, 1));
        assert_eq!((e.total_bytes, e.total_manifests), (3000, 3));
        assert_eq!((e.data_files, e.delete_files, e.rows), (Some(8), Some(3), Some(i64::MAX as u64 + 5)));
        assert!(e.table_memory_bytes > e.streamed_memory_bytes);
        // Delete manifests are opened only if there are files that they may apply to.
        let e = of(&[pruned, deletes]);
        assert_eq!((e.bytes, e.data_manifests, e.delete_manifests, e.delete_files), (0, 0, 0, Some(0)));
        // The list of an old writer has no counts.
        let e = of(&[kept, manifest(Data, None, Stage::Kept)]);
        assert_eq!((e.bytes, e.data_files, e.streamed_memory_bytes), (2000, None, None));
    }
}
