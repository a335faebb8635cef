//! What happened between two snapshots: files appended, and the changelog of rows.
//!
//! A commit's manifests say what it did: entries that it added or deleted carry its id. Together with what it left alone
//! they also give the files and deletes that were there before it, so the parent snapshot itself is not needed and may have
//! expired. A file that came is an insert of the rows that the deletes after the commit leave of it; one that went is a
//! delete of the rows that were left before it. A file that stayed, but whose deletes changed, is a delete of the rows that
//! were left before and are not after, and an insert of those that are left only after.
//!
//! Source: Iceberg specification, "Scan Planning" and "Row Lineage"; order and numbering as Java's
//! `BaseIncrementalAppendScan` and `BaseIncrementalChangelogScan`, which refuses delete files.

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
use crate::iceberg::plan::planner::Plan;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::check_cancelled;
use crate::types::value::decode_bound;
use crate::types::{FieldId, Value, ValueRef};

/// The snapshots after `since` up to `at`, oldest first; all that are still there if `since` is `None`.
///
/// # Errors
/// `InvalidInput` if `at` does not come from `since`. A `since` that has expired will do if it is the parent of the oldest
/// ancestor that is still there.
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
        None => "It has expired, perhaps; table.snapshots lists those that are left",
        Some(_) => "It is newer, on another branch, or was rolled back; begin at a snapshot that both have in common",
    };
    Err(Error::invalid(format!("snapshot {since} is not among those that snapshot {} comes from", at.id))
        .with("table", &metadata.location)
        .with("since", since)
        .with("at", at.id)
        .hint(hint))
}

/// Plans the files that the appends among these snapshots added; `input.entries` does not matter.
///
/// # Errors
/// As [`Plan::start`].
pub fn plan_appends(input: PlanInput, snapshots: &[Arc<Snapshot>]) -> Result<Plan> {
    let began = Instant::now();
    let (input, manifests) = list_appends(input, snapshots)?;
    Plan::over(input, manifests, began)
}

/// What [`plan_appends`] plans: the manifests that the appends wrote, oldest first, and which of their entries.
///
/// # Errors
/// As [`Plan::start`].
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

/// Whether a snapshot wrote this manifest, so that it may have entries added or deleted by it.
pub(crate) fn is_by(m: &ManifestFile, snapshot_id: i64) -> bool {
    m.added_snapshot_id.is_none_or(|id| id == snapshot_id)
}

/// A plan of any kind: yields batches of files.
pub enum AnyPlan {
    /// Files of one version, or appended ones.
    Files(Box<Plan>),
    /// A changelog.
    Changes(Box<ChangesPlan>),
}

impl AnyPlan {
    /// As [`Plan::next_batch`].
    ///
    /// # Errors
    /// As [`Plan::next_batch`].
    pub fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        match self {
            AnyPlan::Files(plan) => plan.next_batch(),
            AnyPlan::Changes(plan) => plan.next_batch(),
        }
    }

    /// As [`Plan::counters`].
    pub fn counters(&self) -> &PlanCounters {
        match self {
            AnyPlan::Files(plan) => plan.counters(),
            AnyPlan::Changes(plan) => &plan.counters,
        }
    }
}

/// The plan of a changelog under way: commit by commit, oldest first; of each commit the files that went, those whose
/// deletes changed, and those that came.
pub struct ChangesPlan {
    input: PlanInput,
    commits: VecDeque<(i32, Arc<Snapshot>)>,
    current: Option<CommitPlan>,
    ready: VecDeque<PlannedBatch>,
    counters: PlanCounters,
    /// The deletes after the last commit: those before the next one, most often.
    last: Option<(i64, Option<Arc<DeleteIndex>>)>,
    /// Whether tasks tell what else their commit did.
    with_commits: bool,
    /// Which manifests were looked at, for who explains the plan.
    looks: Option<Vec<Look>>,
}

/// Manifests that planning one commit looked at for some of their entries.
#[derive(Clone, Debug)]
pub struct Look {
    /// The commit's place in the changelog.
    pub ordinal: i32,
    /// The commit.
    pub snapshot: Arc<Snapshot>,
    /// The entries.
    pub scope: EntryScope,
    /// All of data or all of deletes, oldest first.
    pub manifests: Vec<ManifestFile>,
}

impl ChangesPlan {
    /// Of these snapshots, oldest first. Those that only replaced files by others with the same rows are left out and get
    /// no ordinal.
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

    /// The commits to come with their ordinals.
    pub fn commits(&self) -> impl Iterator<Item = &(i32, Arc<Snapshot>)> {
        self.commits.iter()
    }

    /// From now on remembers which manifests it looks at, and does not look for what else a task's commit did.
    pub fn remember_looks(&mut self) {
        (self.looks, self.with_commits) = (Some(Vec::new()), false);
    }

    /// What it remembers.
    pub fn looks(&self) -> &[Look] {
        self.looks.as_deref().unwrap_or_default()
    }

    /// The next batch; all its files have the same change. After an error there is nothing more.
    ///
    /// # Errors
    /// As [`Plan::start`]; a cancellation.
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
            let mut plan = Plan::over(input(scope), manifests, began)?;
            plan.keep_metrics(deletes.key_fields());
            stages.push_back(Stage { what, plan });
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

    /// All that a commit did, if it both removed and added rows and rows keep their ids.
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
    stages: VecDeque<Stage>,
}

struct Stage {
    what: What,
    plan: Plan,
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
                // Older deletes can only reach a file that claims to be older than its commit.
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

    /// Of files that stayed those whose deletes changed: first the rows removed, then the rows that came back.
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

/// Whether a manifest may have files of a partition, by what the manifest list says of it.
pub(crate) fn may_hold(m: &ManifestFile, partition: &Partition) -> bool {
    let values = &partition.values;
    let summaries = m.partitions.as_ref().filter(|s| s.len() == values.len());
    let field = |(summary, v): (&FieldSummary, &PartitionValue)| {
        let Some(value) = v.value.as_ref().map(Value::as_ref) else { return summary.contains_null };
        let bound = |bytes: &Option<Vec<u8>>, outside: Ordering| {
            let bound = bytes.as_ref().and_then(|b| decode_bound(b, &v.ty).ok().flatten());
            // NaN is no part of the bounds, and of uuids Java Iceberg gives them in the order of signed numbers.
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

/// Those of the rows whose place is wanted.
fn pick(rows: &[u32], wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    rows.iter().enumerate().filter(|(k, _)| wanted(*k)).map(|(_, row)| *row).collect()
}

/// Whether each of `deletes` is among `all`.
fn covers(all: &[DeleteRef], deletes: &[DeleteRef]) -> bool {
    fn place(d: &DeleteRef) -> (&str, Option<i64>, Option<i64>) {
        (&d.file.path, d.file.content_offset, d.file.content_size_bytes)
    }
    let all: HashSet<_> = all.iter().map(place).collect();
    deletes.iter().all(|d| all.contains(&place(d)))
}

/// The delete files around a commit; the large sets are loaded when first asked for.
struct CommitDeletes {
    input: PlanInput,
    snapshot_id: i64,
    manifests: Vec<ManifestFile>,
    /// Those that the commit added.
    added: Option<Arc<DeleteIndex>>,
    /// Those that it removed.
    removed: Option<Arc<DeleteIndex>>,
    before: Option<Option<Arc<DeleteIndex>>>,
    after: Option<Option<Arc<DeleteIndex>>>,
    /// What reading them saw.
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
        Plan::index_deletes(PlanInput { entries, ..self.input.clone() }, manifests, &mut self.counters)
    }

    fn have_changed(&self) -> bool {
        self.added.is_some() || self.removed.is_some()
    }

    /// The partitions in which rows may have changed; `None` for all.
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
            // What did not change is the same as before.
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
