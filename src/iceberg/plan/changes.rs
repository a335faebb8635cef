//! The changes between two snapshots: appended files, and the changelog of rows.
//!
//! A commit's manifests record its changes: entries that it added or deleted have its id. Together with the unchanged
//! entries they also describe the files and deletes before the commit. The parent snapshot is therefore not needed and
//! may have expired. The rows of the changelog are:
//! - An added file inserts the rows that are live after the commit.
//! - A removed file deletes the rows that were live before the commit.
//! - A file that stayed but got other deletes deletes the rows that were live only before. It inserts the rows that are
//!   live only after.
//!
//! Source: Iceberg specification, "Scan Planning" and "Row Lineage"; order and numbering as in Java's
//! `BaseIncrementalAppendScan` and `BaseIncrementalChangelogScan`, which does not support delete files.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{ChangeOperation, CommitChanges, DeleteRef, Partition, PartitionValue};
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::deletes::{AttachedDeletes, DeleteIndex};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::planned::{BatchChange, PlanCounters, PlannedBatch};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::plan::served::plan::ServedPlan;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::check_cancelled;
use crate::types::value::decode_bound;
use crate::types::{FieldId, Value, ValueRef};

/// The snapshots after `since` up to `at`, oldest first. If `since` is `None`, all that have not expired.
///
/// # Errors
/// `InvalidInput` if `since` is not an ancestor of `at`. An expired `since` is accepted if it is the parent of the
/// oldest ancestor that has not expired.
pub fn snapshots_between(metadata: &TableMetadata, since: Option<i64>, at: &Snapshot) -> Result<Vec<Arc<Snapshot>>> {
    let ancestors = metadata.ancestors(at.id);
    let mut out = Vec::new();
    for snapshot in ancestors {
        if Some(snapshot.id) == since {
            out.reverse();
            return Ok(out);
        }
        out.push(snapshot.clone());
    }
    let Some(since) = since else {
        out.reverse();
        return Ok(out);
    };
    if out.last().is_some_and(|oldest| oldest.parent_id == Some(since)) {
        out.reverse();
        return Ok(out);
    }
    let hint = match metadata.snapshot_by_id(since) {
        None => "It may have expired; table.snapshots lists the existing snapshots",
        Some(_) => "It is newer, on another branch, or was rolled back; start at a common ancestor",
    };
    Err(Error::invalid(format!("snapshot {since} is not an ancestor of snapshot {}", at.id))
        .with("table", &metadata.location)
        .with("since", since)
        .with("at", at.id)
        .hint(hint))
}

/// Plans the files that the appends among these snapshots added. Ignores `input.entries`.
///
/// # Errors
/// Errors of [`RunningPlan::start`].
pub fn plan_appends(input: PlanInput, snapshots: &[Arc<Snapshot>]) -> Result<RunningPlan> {
    let began = Instant::now();
    let (input, manifests) = list_appends(input, snapshots)?;
    RunningPlan::over(input, manifests, began)
}

/// The input of [`plan_appends`]: the manifests that the appends wrote, oldest first, and the entries to plan.
///
/// # Errors
/// Errors of [`RunningPlan::start`].
pub fn list_appends(input: PlanInput, snapshots: &[Arc<Snapshot>]) -> Result<(PlanInput, Vec<ManifestFile>)> {
    let appends: Vec<&Arc<Snapshot>> = snapshots.iter().filter(|s| s.operation() == Some("append")).collect();
    let load = |i: usize| {
        check_cancelled()?;
        let mut manifests = manifests_of(&input, appends[i])?;
        manifests.retain(|m| m.content == ManifestContent::Data && is_by(m, appends[i].id));
        Ok(manifests)
    };
    let mut seen = HashSet::new();
    let loaded = crate::store::in_parallel(input.store.as_ref(), appends.len(), load)?;
    let manifests: Vec<ManifestFile> = loaded.into_iter().flatten().filter(|m| seen.insert(m.path.clone())).collect();
    let ids = appends.iter().map(|s| s.id).collect();
    Ok((PlanInput { entries: EntryScope::AddedBy(Arc::new(ids)), ..input }, manifests))
}

/// The manifests of a snapshot, in the order of their commits.
pub(crate) fn manifests_of(input: &PlanInput, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let loaded = load_manifests(input.store.as_ref(), &input.location, snapshot);
    let mut manifests = loaded.with("snapshot", snapshot.id)?;
    manifests.reverse();
    Ok(manifests)
}

/// Whether a snapshot wrote this manifest, so that the manifest may have entries that the snapshot added or deleted.
pub(crate) fn is_by(m: &ManifestFile, snapshot_id: i64) -> bool {
    m.added_snapshot_id.is_none_or(|id| id == snapshot_id)
}

/// A plan of either kind. It yields batches of files.
pub enum AnyPlan {
    /// The files of one version, or appended files.
    Files(Box<RunningPlan>),
    /// A changelog.
    Changes(Box<ChangesPlan>),
    /// A plan that the catalog's server made.
    Served(Box<ServedPlan>),
    /// Another plan whose end is reported.
    Reported(Box<ReportedPlan>),
}

impl AnyPlan {
    /// As [`RunningPlan::next_batch`].
    ///
    /// # Errors
    /// As [`RunningPlan::next_batch`].
    pub fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        match self {
            AnyPlan::Files(plan) => plan.next_batch(),
            AnyPlan::Changes(plan) => plan.next_batch(),
            AnyPlan::Served(plan) => plan.next_batch(),
            AnyPlan::Reported(plan) => plan.next_batch(),
        }
    }

    /// As [`RunningPlan::counters`].
    pub fn counters(&self) -> &PlanCounters {
        match self {
            AnyPlan::Files(plan) => plan.counters(),
            AnyPlan::Changes(plan) => &plan.counters,
            AnyPlan::Served(plan) => plan.counters(),
            AnyPlan::Reported(plan) => plan.plan.counters(),
        }
    }
}

/// What is done when a plan has ended.
type AtEnd = Box<dyn FnOnce(&PlanCounters) + Send>;

/// A plan whose end is reported.
pub struct ReportedPlan {
    plan: AnyPlan,
    attached_bytes: u64,
    at_end: Option<AtEnd>,
}

impl ReportedPlan {
    /// The plan. `at_end` is called once, when all batches were taken.
    pub(crate) fn new(plan: AnyPlan, at_end: AtEnd) -> ReportedPlan {
        ReportedPlan { plan, attached_bytes: 0, at_end: Some(at_end) }
    }

    fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        let batch = self.plan.next_batch().inspect_err(|_| self.at_end = None)?;
        if let Some(batch) = &batch {
            self.attached_bytes = self.attached_bytes.saturating_add(batch.deletes.total_bytes());
        } else if let Some(at_end) = self.at_end.take() {
            at_end(&PlanCounters { attached_bytes: Some(self.attached_bytes), ..self.plan.counters().clone() });
        }
        Ok(batch)
    }
}

/// The running plan of a changelog. It goes commit by commit, oldest first. For each commit it gives removed files,
/// files with changed deletes, and added files.
pub struct ChangesPlan {
    input: PlanInput,
    commits: VecDeque<(i32, Arc<Snapshot>)>,
    current: Option<CommitPlan>,
    ready: VecDeque<PlannedBatch>,
    counters: PlanCounters,
    /// The deletes after the last commit. They are usually the deletes before the next one.
    last: Option<(i64, Option<Arc<DeleteIndex>>)>,
    /// Whether tasks include the other changes of their commit.
    with_commits: bool,
    /// The manifests that were looked at, to explain the plan.
    looks: Option<Vec<Look>>,
}

/// Manifests that the plan of one commit looked at for some of their entries.
#[derive(Clone, Debug)]
pub struct Look {
    /// The commit's number in the changelog.
    pub ordinal: i32,
    /// The commit.
    pub snapshot: Arc<Snapshot>,
    /// The entries that it looked for.
    pub scope: EntryScope,
    /// The manifests, all of data or all of deletes, oldest first.
    pub manifests: Vec<ManifestFile>,
}

impl ChangesPlan {
    /// Creates a plan of these snapshots, oldest first. Snapshots that only replaced files by others with the same rows
    /// are skipped and get no number.
    pub fn new(input: PlanInput, snapshots: &[Arc<Snapshot>]) -> ChangesPlan {
        let commits = snapshots.iter().filter(|s| s.operation() != Some("replace")).cloned();
        let commits = (0..).zip(commits).collect();
        ChangesPlan {
            input,
            commits,
            current: None,
            ready: VecDeque::new(),
            counters: PlanCounters::default(),
            last: None,
            with_commits: true,
            looks: None,
        }
    }

    /// The remaining commits with their numbers.
    pub fn commits(&self) -> impl Iterator<Item = &(i32, Arc<Snapshot>)> {
        self.commits.iter()
    }

    /// Starts to record the manifests that the plan looks at. The plan then does not look for the other changes of a
    /// task's commit.
    pub fn remember_looks(&mut self) {
        (self.looks, self.with_commits) = (Some(Vec::new()), false);
    }

    /// The recorded manifests.
    pub fn looks(&self) -> &[Look] {
        self.looks.as_deref().unwrap_or_default()
    }

    /// The next batch. All its files have the same kind of change. After an error the plan yields nothing more.
    ///
    /// # Errors
    /// Errors of [`RunningPlan::start`]; cancellation.
    pub fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        let next = self.advance();
        if next.is_err() {
            (self.current, self.commits) = (None, VecDeque::new());
        }
        next
    }

    fn advance(&mut self) -> Result<Option<PlannedBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(commit) = &mut self.current else {
                let Some((ordinal, snapshot)) = self.commits.pop_front() else { return Ok(None) };
                let id = snapshot.id;
                let plan = self.start(ordinal, snapshot).with("snapshot", id)?;
                self.current = Some(plan);
                continue;
            };
            let Some(stage) = commit.stages.front_mut() else {
                let snapshot = &commit.snapshot;
                self.counters.add_deletes(&commit.deletes.counters);
                self.last = commit.deletes.after.take().map(|index| (snapshot.id, index));
                self.current = None;
                continue;
            };
            match stage.plan.next_batch()? {
                Some(batch) => {
                    let what = stage.what;
                    let found = commit.changes(what, batch).with("snapshot", commit.snapshot.id)?;
                    self.ready.extend(found.into_iter().filter(|b| !b.rows.is_empty()));
                }
                None => {
                    add_counters(&mut self.counters, stage.plan.counters());
                    commit.stages.pop_front();
                }
            }
        }
    }

    fn start(&mut self, ordinal: i32, snapshot: Arc<Snapshot>) -> Result<CommitPlan> {
        let began = Instant::now();
        let all = manifests_of(&self.input, &snapshot)?;
        let before = self.last.take().filter(|(id, _)| snapshot.parent_id == Some(*id)).map(|(_, index)| index);
        let mut deletes = CommitDeletes::new(&self.input, &snapshot, &all, before)?;
        let data = || all.iter().filter(|m| m.content == ManifestContent::Data);
        let own = || data().filter(|m| is_by(m, snapshot.id)).cloned().collect::<Vec<_>>();
        let this = Arc::new(HashSet::from([snapshot.id]));
        let input = |entries| PlanInput { entries, snapshot: Some(snapshot.clone()), ..self.input.clone() };
        let mut stages = VecDeque::new();
        let mut add = |what, scope: EntryScope, manifests: Vec<ManifestFile>, deletes: &CommitDeletes| -> Result<()> {
            if let Some(looks) = &mut self.looks {
                let (snapshot, scope, manifests) = (snapshot.clone(), scope.clone(), manifests.clone());
                looks.push(Look { ordinal, snapshot, scope, manifests });
            }
            let mut plan = RunningPlan::over(input(scope), manifests, began)?;
            plan.keep_metrics(deletes.key_fields());
            stages.push_back(ChangeStage { what, plan });
            Ok(())
        };
        let touched = own();
        if touched.iter().any(|m| m.deleted_files_count != Some(0)) {
            deletes.load_before()?;
            add(What::Removed, EntryScope::RemovedBy(this.clone()), touched.clone(), &deletes)?;
        }
        if deletes.have_changed() {
            deletes.load_before()?;
            deletes.load_after()?;
            let reached = deletes.partitions_reached();
            let mut manifests = Vec::new();
            for m in data() {
                check_cancelled()?;
                if reached.as_ref().is_none_or(|all| all.values().any(|p| may_hold(m, p))) {
                    manifests.push(m.clone());
                }
            }
            add(What::Kept, EntryScope::KeptBy(snapshot.id), manifests, &deletes)?;
        }
        add(What::Added, EntryScope::AddedBy(this), touched, &deletes)?;
        let commit = match self.with_commits {
            true => self.commit_changes(ordinal, &snapshot, &all)?,
            false => None,
        };
        Ok(CommitPlan { snapshot, ordinal, commit, deletes, stages })
    }

    /// All changes of a commit, if it both removed and added rows and rows keep their ids.
    fn commit_changes(
        &self,
        ordinal: i32,
        snapshot: &Arc<Snapshot>,
        manifests: &[ManifestFile],
    ) -> Result<Option<Arc<CommitChanges>>> {
        let Some(first_row_id) = snapshot.first_row_id else { return Ok(None) };
        let own = |content| manifests.iter().filter(move |m| m.content == content && is_by(m, snapshot.id));
        let removes = own(ManifestContent::Data).any(|m| m.deleted_files_count != Some(0));
        let adds = own(ManifestContent::Data).any(|m| m.added_files_count != Some(0));
        if !adds || !(removes || own(ManifestContent::Deletes).next().is_some()) {
            return Ok(None);
        }
        let filter = Arc::new(BoundPredicate::True);
        let input = PlanInput { filter, column_metrics: false, ..self.input.clone() };
        let mut plan = ChangesPlan::new(input, std::slice::from_ref(snapshot));
        plan.commits = VecDeque::from([(ordinal, snapshot.clone())]);
        plan.with_commits = false;
        let mut tasks = Vec::new();
        while let Some(batch) = plan.next_batch()? {
            for k in 0..batch.rows.len() {
                tasks.push(batch.task(k)?);
            }
        }
        let has = |operation| tasks.iter().any(|t| t.change.as_ref().is_some_and(|c| c.operation == operation));
        let both = has(ChangeOperation::Insert) && has(ChangeOperation::Delete);
        let sequence_number = snapshot.sequence_number;
        Ok(both.then(|| Arc::new(CommitChanges { sequence_number, first_row_id, tasks })))
    }
}

/// One commit of a changelog.
struct CommitPlan {
    snapshot: Arc<Snapshot>,
    ordinal: i32,
    commit: Option<Arc<CommitChanges>>,
    deletes: CommitDeletes,
    stages: VecDeque<ChangeStage>,
}

struct ChangeStage {
    what: What,
    plan: RunningPlan,
}

#[derive(Clone, Copy)]
enum What {
    Removed,
    Kept,
    Added,
}

impl CommitPlan {
    /// The changes of a batch of files.
    fn changes(&mut self, what: What, mut batch: PlannedBatch) -> Result<Vec<PlannedBatch>> {
        match what {
            What::Removed => {
                batch.deletes = attach(self.deletes.load_before()?.as_ref(), &batch)?;
                batch.change = Some(self.change(ChangeOperation::Delete, None));
                Ok(vec![batch])
            }
            What::Added => {
                // Older deletes can apply only to a file that claims to be older than its commit.
                let number = Some(self.snapshot.sequence_number);
                let is_new = |row: &u32| batch.columns.sequence_number.get(*row as usize).copied().flatten() == number;
                let index = match batch.rows.iter().all(is_new) {
                    true => self.deletes.added.clone(),
                    false => self.deletes.load_after()?,
                };
                batch.deletes = attach(index.as_ref(), &batch)?;
                batch.change = Some(self.change(ChangeOperation::Insert, None));
                Ok(vec![batch])
            }
            What::Kept => self.row_changes(batch),
        }
    }

    /// For files that stayed and got other deletes: first the removed rows, then the rows that came back.
    fn row_changes(&mut self, mut batch: PlannedBatch) -> Result<Vec<PlannedBatch>> {
        let added = attach(self.deletes.added.as_ref(), &batch)?;
        let removed = attach(self.deletes.removed.as_ref(), &batch)?;
        batch.entries.rows = pick(&batch.rows, |k| added.count(k) + removed.count(k) > 0);
        if batch.rows.is_empty() {
            return Ok(Vec::new());
        }
        let (before, after) = (self.deletes.load_before()?, self.deletes.load_after()?);
        let (old, new) = (attach(before.as_ref(), &batch)?, attach(after.as_ref(), &batch)?);
        let (mut lost, mut regained) = (HashSet::new(), HashSet::new());
        for k in 0..batch.rows.len() {
            let (old, new) = (old.refs(k)?, new.refs(k)?);
            if !covers(&old, &new) {
                lost.insert(k);
            }
            if !covers(&new, &old) {
                regained.insert(k);
            }
        }
        let mut out = Vec::new();
        if !regained.is_empty() {
            let rows = pick(&batch.rows, |k| regained.contains(&k));
            let (columns, groups) = (batch.columns.clone(), batch.groups.clone());
            let mut back = PlannedBatch::of(KeptEntries { columns, groups, rows });
            back.deletes = attach(after.as_ref(), &back)?;
            back.change = Some(self.change(ChangeOperation::Insert, Some(attach(before.as_ref(), &back)?)));
            out.push(back);
        }
        batch.entries.rows = pick(&batch.rows, |k| lost.contains(&k));
        batch.deletes = attach(before.as_ref(), &batch)?;
        batch.change = Some(self.change(ChangeOperation::Delete, Some(attach(after.as_ref(), &batch)?)));
        out.insert(0, batch);
        Ok(out)
    }

    fn change(&self, operation: ChangeOperation, removed_by: Option<AttachedDeletes>) -> Box<BatchChange> {
        Box::new(BatchChange {
            operation,
            ordinal: self.ordinal,
            commit_snapshot_id: self.snapshot.id,
            removed_by,
            commit: self.commit.clone(),
        })
    }
}

/// Whether a manifest may have files of a partition, according to the manifest list.
pub(crate) fn may_hold(m: &ManifestFile, partition: &Partition) -> bool {
    let values = &partition.values;
    let summaries = m.partitions.as_ref().filter(|s| s.len() == values.len());
    let field = |(summary, v): (&FieldSummary, &PartitionValue)| {
        let Some(value) = v.value.as_ref().map(Value::as_ref) else { return summary.contains_null };
        let bound = |bytes: &Option<Vec<u8>>, outside: Ordering| {
            let bound = bytes.as_ref().and_then(|b| decode_bound(b, &v.ty).ok().flatten());
            // Bounds don't include NaN. Java Iceberg orders the bounds of uuids as signed numbers.
            let comparable = !value.is_nan() && !matches!(value, ValueRef::Uuid(_));
            bound.is_some_and(|b| comparable && !b.is_nan() && value.sql_cmp(b) == Some(outside))
        };
        !bound(&summary.lower, Ordering::Less) && !bound(&summary.upper, Ordering::Greater)
    };
    m.spec_id == partition.spec_id && summaries.is_none_or(|s| s.iter().zip(values).all(field))
}

fn attach(index: Option<&Arc<DeleteIndex>>, batch: &PlannedBatch) -> Result<AttachedDeletes> {
    index.map_or_else(|| Ok(AttachedDeletes::default()), |index| index.attach(batch))
}

/// The rows at the wanted places.
fn pick(rows: &[u32], wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    rows.iter().enumerate().filter(|(k, _)| wanted(*k)).map(|(_, row)| *row).collect()
}

/// Whether `all` contains each of `deletes`.
fn covers(all: &[DeleteRef], deletes: &[DeleteRef]) -> bool {
    fn place(d: &DeleteRef) -> (&str, Option<i64>, Option<i64>) {
        (&d.file.path, d.file.content_offset, d.file.content_size_bytes)
    }
    let all: HashSet<_> = all.iter().map(place).collect();
    deletes.iter().all(|d| all.contains(&place(d)))
}

/// The delete files before and after a commit. The large sets are loaded at the first use.
struct CommitDeletes {
    input: PlanInput,
    snapshot_id: i64,
    manifests: Vec<ManifestFile>,
    /// The deletes that the commit added.
    added: Option<Arc<DeleteIndex>>,
    /// The deletes that the commit removed.
    removed: Option<Arc<DeleteIndex>>,
    before: Option<Option<Arc<DeleteIndex>>>,
    after: Option<Option<Arc<DeleteIndex>>>,
    /// Counters of the loading.
    counters: PlanCounters,
}

impl CommitDeletes {
    fn new(
        input: &PlanInput,
        snapshot: &Arc<Snapshot>,
        manifests: &[ManifestFile],
        before: Option<Option<Arc<DeleteIndex>>>,
    ) -> Result<CommitDeletes> {
        let is_delete = |m: &&ManifestFile| m.content == ManifestContent::Deletes;
        let mut out = CommitDeletes {
            input: PlanInput { snapshot: Some(snapshot.clone()), ..input.clone() },
            snapshot_id: snapshot.id,
            manifests: manifests.iter().filter(is_delete).cloned().collect(),
            added: None,
            removed: None,
            before,
            after: None,
            counters: PlanCounters::default(),
        };
        let this = Arc::new(HashSet::from([snapshot.id]));
        out.added = out.load(EntryScope::AddedBy(this.clone()), true)?;
        out.removed = out.load(EntryScope::RemovedBy(this), true)?;
        Ok(out)
    }

    fn load(&mut self, entries: EntryScope, own: bool) -> Result<Option<Arc<DeleteIndex>>> {
        let manifests = self.manifests.iter().filter(|m| !own || is_by(m, self.snapshot_id));
        RunningPlan::index_deletes(PlanInput { entries, ..self.input.clone() }, manifests, &mut self.counters)
    }

    fn have_changed(&self) -> bool {
        self.added.is_some() || self.removed.is_some()
    }

    /// The partitions in which rows may have changed; `None` means all.
    fn partitions_reached(&self) -> Option<HashMap<Vec<u8>, Arc<Partition>>> {
        let indexes = [&self.added, &self.removed].into_iter().flatten();
        let all: Option<Vec<_>> = indexes.map(|index| index.partitions_reached()).collect();
        all.map(|partitions| partitions.into_iter().flatten().collect())
    }

    fn load_before(&mut self) -> Result<Option<Arc<DeleteIndex>>> {
        let index = match self.before.take() {
            Some(index) => index,
            None => self.load(EntryScope::Before(self.snapshot_id), false)?,
        };
        self.before = Some(index.clone());
        Ok(index)
    }

    fn load_after(&mut self) -> Result<Option<Arc<DeleteIndex>>> {
        let index = match self.after.take() {
            Some(index) => index,
            // Nothing changed, so the deletes are the same as before.
            None if !self.have_changed() && self.before.is_some() => self.load_before()?,
            None => self.load(EntryScope::Live, false)?,
        };
        self.after = Some(index.clone());
        Ok(index)
    }

    /// Key columns of the equality deletes loaded so far.
    fn key_fields(&self) -> Vec<FieldId> {
        let loaded = [self.added.as_ref(), self.removed.as_ref()];
        let large = [&self.before, &self.after].map(|index| index.as_ref().and_then(Option::as_ref));
        loaded.into_iter().chain(large).flatten().flat_map(|index| index.key_fields()).collect()
    }
}

fn add_counters(sum: &mut PlanCounters, c: &PlanCounters) {
    sum.data_manifests.extend(c.data_manifests);
    sum.live_manifests.extend(c.live_manifests);
    sum.matching_manifests.extend(c.matching_manifests);
    sum.add_files(c);
    sum.read_ms += c.read_ms;
    sum.list_ms += c.list_ms;
    sum.entries_ms += c.entries_ms;
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
