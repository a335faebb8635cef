//! The preconditions of a change, checked against the commits made since it was planned.
//!
//! Each check looks only at files that the new snapshots wrote. It looks at each snapshot once: later attempts check
//! only newer snapshots. The caller selects the checks for its operation and isolation level. This follows Java's
//! `MergingSnapshotProducer`.
//!
//! Source: Iceberg specification, "Commit Conflict Resolution and Retry".

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition};
use crate::iceberg::manifest::entries::{ADDED, EntryColumns, MISSING, MetricColumn};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::changes::{is_by, snapshots_between};
use crate::iceberg::plan::deletes::{DeleteIndex, partition_key};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::kept_entries::{KeptEntries, PartitionGroup};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::location::{normalise, normalised};
use crate::store::{Location, Store, in_parallel};
use crate::types::FieldId;

/// The hint after a conflict.
pub(crate) const RUN_AGAIN: &str = "Nothing was committed. The same change can't be committed any more, but it is safe \
     to run the operation again: it plans on the newest version";

/// The events that must not have happened since a change was planned.
///
/// `serializable` isolation excludes every change of the rows that were read: [`Preconditions::no_new_data`] and
/// [`Preconditions::no_new_deletes`]. `snapshot` isolation leaves out the first.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// The snapshot that the change was planned on. `None` if the table or branch was empty; then all of its history is
    /// checked.
    pub since: Option<i64>,
    /// The rows that the change read. Only files that may hold such rows conflict. `None` means all rows.
    pub filter: Option<Predicate>,
    /// If set, only files of these partitions conflict.
    pub partitions: Option<Vec<Arc<Partition>>>,
    /// Fails if another commit added data files (that may match).
    pub no_new_data: bool,
    /// Fails if another commit added delete files that may match or that apply to data files which this change removes.
    pub no_new_deletes: bool,
    /// Fails if another commit added deletes that apply to the data files which this change removes. The filter does
    /// not matter. Equality deletes count unless
    /// [`SnapshotProducer::data_sequence_number`](super::producer::SnapshotProducer::data_sequence_number) keeps them
    /// applied to the added files.
    pub no_new_deletes_of_removed: bool,
    /// Fails if another commit removed data files (that may match).
    pub no_removed_data: bool,
    /// Data files that must still be in the table, because added position deletes refer to them.
    pub required: HashSet<String>,
    /// Data files that must not be in the table yet: those that the change itself adds.
    pub absent: HashSet<String>,
    /// Allows an operation `delete` to remove a required file, because it removes all of the file's rows.
    pub required_may_be_deleted: bool,
    /// Requires `since` to be an ancestor of the newest snapshot, even without any other check.
    pub same_history: bool,
    /// The partition specs that the table's data files may have, because added equality deletes apply only to these.
    /// `None` allows any.
    pub only_specs: Option<BTreeSet<i32>>,
}

/// The data about a change that its checks need.
pub(crate) struct Subject<'a> {
    pub store: &'a Arc<dyn Store>,
    pub removed_data: &'a [DataFile],
    /// Data files that the change adds deletion vectors for.
    pub vectors_for: HashSet<&'a str>,
    /// The added data files keep an old data sequence number, so new equality deletes apply to them too.
    pub keeps_sequence_number: bool,
    /// Rows move to another partition spec. Deletes in partitions of the old spec don't apply to them there.
    pub moves_rows: bool,
    /// Snapshots of the same transaction.
    pub own: &'a HashSet<i64>,
}

/// The checks on one version of the table.
struct Check<'a> {
    preconditions: &'a Preconditions,
    subject: &'a Subject<'a>,
    filter: Arc<BoundPredicate>,
    base: Arc<TableMetadata>,
    partitions: Option<HashSet<Vec<u8>>>,
    since_number: i64,
}

/// Checks the snapshots between `preconditions.since` and `parent`, except those in `checked`. Returns the checked
/// snapshots.
///
/// # Errors
/// `CommitConflict` with the snapshot, operation, file, partition and clause; errors of the store; `CorruptTable`.
pub(crate) fn check(
    preconditions: &Preconditions,
    subject: &Subject<'_>,
    base: &TableMetadata,
    parent: Option<&Arc<Snapshot>>,
    checked: &HashSet<i64>,
) -> Result<Vec<i64>> {
    let Some(parent) = parent.filter(|p| Some(p.id) != preconditions.since) else { return Ok(Vec::new()) };
    if !preconditions.asks_anything() && subject.vectors_for.is_empty() {
        return Ok(Vec::new());
    }
    let between = snapshots_between(base, preconditions.since, parent).map_err(|e| {
        Error::conflict("the snapshot that the change was planned on is not an ancestor of the newest one")
            .with("snapshot", parent.id)
            .with("since", preconditions.since.map_or_else(|| "none".to_owned(), |id| id.to_string()))
            .with("clause", "the history since the change was planned is known")
            .hint(RUN_AGAIN)
            .because(e)
    })?;
    if between.first().is_some_and(|oldest| preconditions.since.is_none() && oldest.parent_id.is_some()) {
        return Err(Error::conflict("the history of the table since the change was planned has expired")
            .with("snapshot", parent.id)
            .hint(RUN_AGAIN));
    }
    let new: Vec<_> = between.iter().filter(|s| !checked.contains(&s.id) && !subject.own.contains(&s.id)).collect();
    let filter = match &preconditions.filter {
        None => BoundPredicate::True,
        Some(filter) => bind(filter, base.schema()?, true)?,
    };
    let check = Check {
        preconditions,
        subject,
        filter: Arc::new(filter),
        base: Arc::new(base.clone()),
        partitions: preconditions.partitions.as_ref().map(|all| all.iter().map(|p| partition_key(p)).collect()),
        since_number: preconditions.since.and_then(|id| base.snapshot_by_id(id)).map_or(0, |s| s.sequence_number),
    };
    in_parallel(subject.store.as_ref(), new.len(), |i| check.snapshot(new[i]).map(|()| new[i].id))
}

impl Preconditions {
    fn asks_anything(&self) -> bool {
        self.no_new_data
            || self.no_new_deletes
            || self.no_new_deletes_of_removed
            || self.no_removed_data
            || !self.required.is_empty()
            || !self.absent.is_empty()
            || self.same_history
    }
}

impl Preconditions {
    /// Whether both can be checked together: they were planned on the same snapshot.
    pub(super) fn fits(&self, later: &Preconditions) -> bool {
        !self.asks_anything() || !later.asks_anything() || self.since == later.since
    }

    /// The preconditions of two changes that become one. They must fit.
    pub(super) fn joined(self, later: Preconditions) -> Preconditions {
        match (self.asks_anything(), later.asks_anything()) {
            (_, false) => return self,
            (false, true) => return later,
            (true, true) => {}
        }
        let both = |a: Option<Predicate>, b: Option<Predicate>| Some(Predicate::Or(vec![a?, b?]));
        Preconditions {
            since: self.since,
            filter: both(self.filter, later.filter),
            partitions: self.partitions.zip(later.partitions).map(|(a, b)| [a, b].concat()),
            no_new_data: self.no_new_data || later.no_new_data,
            no_new_deletes: self.no_new_deletes || later.no_new_deletes,
            no_new_deletes_of_removed: self.no_new_deletes_of_removed || later.no_new_deletes_of_removed,
            no_removed_data: self.no_removed_data || later.no_removed_data,
            required: self.required.into_iter().chain(later.required).collect(),
            absent: self.absent.into_iter().chain(later.absent).collect(),
            required_may_be_deleted: self.required_may_be_deleted && later.required_may_be_deleted,
            same_history: self.same_history || later.same_history,
            only_specs: match (self.only_specs, later.only_specs) {
                (Some(a), Some(b)) => Some(a.intersection(&b).copied().collect()),
                (a, b) => a.or(b),
            },
        }
    }
}

/// Checks that a version's data manifests use only specs that the change knows.
///
/// # Errors
/// `CommitConflict` with the spec.
pub(crate) fn check_specs(preconditions: &Preconditions, manifests: &[ManifestFile]) -> Result<()> {
    let Some(specs) = &preconditions.only_specs else { return Ok(()) };
    let live = |m: &&ManifestFile| m.added_files_count != Some(0) || m.existing_files_count != Some(0);
    match manifests.iter().filter(live).find(|m| !specs.contains(&m.spec_id)) {
        None => Ok(()),
        Some(m) => {
            Err(Error::conflict("another commit added data files of a spec that the equality deletes don't apply to")
                .with("spec", m.spec_id)
                .with("clause", "data files have only the specs of the planned version")
                .hint(RUN_AGAIN))
        }
    }
}

/// Whether a snapshot's operation is one of these. An unknown operation counts as any of them.
fn is_one_of(snapshot: &Snapshot, operations: &[&str]) -> bool {
    const KNOWN: [&str; 4] = ["append", "overwrite", "delete", "replace"];
    snapshot.operation().is_none_or(|op| operations.contains(&op) || !KNOWN.contains(&op))
}

impl Check<'_> {
    fn snapshot(&self, snapshot: &Arc<Snapshot>) -> Result<()> {
        let a = self.preconditions;
        let adds = a.no_new_data && is_one_of(snapshot, &["append", "overwrite"]);
        let removes = a.no_removed_data && is_one_of(snapshot, &["overwrite", "replace", "delete"]);
        let gone: &[&str] =
            if a.required_may_be_deleted { &["overwrite", "replace"] } else { &["overwrite", "replace", "delete"] };
        let requires = !a.required.is_empty() && is_one_of(snapshot, gone);
        let deletes = a.no_new_deletes || (a.no_new_deletes_of_removed && !self.subject.removed_data.is_empty());
        let deletes = deletes && is_one_of(snapshot, &["overwrite", "delete"]);
        let vectors = !self.subject.vectors_for.is_empty() && is_one_of(snapshot, &["overwrite", "delete", "replace"]);
        let doubles = !a.absent.is_empty() && is_one_of(snapshot, &["append", "overwrite", "replace"]);
        if !(adds || removes || requires || deletes || vectors || doubles) {
            return Ok(());
        }
        let manifests = load_manifests(self.subject.store.as_ref(), &Location::recorded(), snapshot)?;
        let own: Vec<ManifestFile> = manifests.into_iter().filter(|m| is_by(m, snapshot.id)).collect();
        let by = || Arc::new(HashSet::from([snapshot.id]));
        if adds {
            let clause = format!("no new data files that may match {}", self.filter_text());
            self.no_files(snapshot, &own, EntryScope::AddedBy(by()), "added data", &clause)?;
        }
        if removes {
            let clause = format!("no removed data files that may match {}", self.filter_text());
            self.no_files(snapshot, &own, EntryScope::RemovedBy(by()), "removed data", &clause)?;
        }
        if requires {
            let clause = "data files of added deletes are still there";
            self.none_of(&a.required, snapshot, &own, EntryScope::RemovedBy(by()), "removed", clause)?;
        }
        if doubles {
            let clause = "added files are not in the table yet";
            self.none_of(&a.absent, snapshot, &own, EntryScope::AddedBy(by()), "added", clause)?;
        }
        if deletes || vectors {
            self.deletes(snapshot, &own, deletes, vectors)?;
        }
        Ok(())
    }

    /// The rows that the change read, as text.
    fn filter_text(&self) -> String {
        let partitions = self.preconditions.partitions.iter().flatten();
        let paths: Vec<String> = partitions.map(|p| p.path()).take(5).collect();
        match &self.preconditions.partitions {
            Some(all) if all.len() > paths.len() => format!("partitions {} and others", paths.join(", ")),
            Some(_) => format!("partitions {}", paths.join(", ")),
            None => self.filter.to_string(),
        }
    }

    fn input(&self, snapshot: &Arc<Snapshot>, entries: EntryScope, filter: Arc<BoundPredicate>) -> Result<PlanInput> {
        Ok(PlanInput {
            store: self.subject.store.clone(),
            location: Location::recorded(),
            metadata: self.base.clone(),
            snapshot: Some(snapshot.clone()),
            schema: self.base.schema()?.clone(),
            filter,
            entries,
            metric_fields: Vec::new(),
            budget: Arc::default(),
            column_metrics: false,
            all_deletes: false,
            cache: None,
        })
    }

    fn in_partitions(&self, partition: &Partition) -> bool {
        self.partitions.as_ref().is_none_or(|all| all.contains(&partition_key(partition)))
    }

    /// Fails if a data file of this scope matches.
    fn no_files(
        &self,
        snapshot: &Arc<Snapshot>,
        own: &[ManifestFile],
        scope: EntryScope,
        did: &str,
        clause: &str,
    ) -> Result<()> {
        let input = self.input(snapshot, scope, self.filter.clone())?;
        let mut plan = RunningPlan::over(input, own.iter().cloned(), Instant::now())?;
        while let Some(batch) = plan.next_batch()? {
            for row in batch.rows.iter().map(|row| *row as usize) {
                let partition = &batch.group(row)?.partition;
                if self.in_partitions(partition) {
                    let path = batch.columns.path.get(row).map(String::from_utf8_lossy).unwrap_or_default();
                    let what = format!("another commit {did} that conflicts with this change");
                    return Err(conflict(&what, snapshot, &path, partition, clause));
                }
            }
        }
        Ok(())
    }

    /// Fails if a data file of this scope is one of these.
    fn none_of(
        &self,
        paths: &HashSet<String>,
        snapshot: &Arc<Snapshot>,
        own: &[ManifestFile],
        scope: EntryScope,
        did: &str,
        clause: &str,
    ) -> Result<()> {
        let paths: HashSet<String> = paths.iter().map(|path| normalise(path)).collect();
        let input = self.input(snapshot, scope, Arc::new(BoundPredicate::True))?;
        let mut plan = RunningPlan::over(input, own.iter().cloned(), Instant::now())?;
        while let Some(batch) = plan.next_batch()? {
            for row in batch.rows.iter().map(|row| *row as usize) {
                let path = batch.columns.path.get(row).and_then(|path| std::str::from_utf8(path).ok());
                if let Some(path) = path.filter(|path| paths.contains(normalised(path).as_ref())) {
                    let what = format!("another commit {did} a data file that this change names");
                    return Err(conflict(&what, snapshot, path, &batch.group(row)?.partition, clause));
                }
            }
        }
        Ok(())
    }

    /// Checks the delete files that a snapshot added.
    fn deletes(&self, snapshot: &Arc<Snapshot>, own: &[ManifestFile], deletes: bool, vectors: bool) -> Result<()> {
        if self.base.format_version < 2 || !own.iter().any(|m| m.content == ManifestContent::Deletes) {
            return Ok(());
        }
        let index = |filter: Arc<BoundPredicate>| -> Result<Option<Arc<DeleteIndex>>> {
            let scope = EntryScope::AddedBy(Arc::new(HashSet::from([snapshot.id])));
            let input = self.input(snapshot, scope, filter)?;
            RunningPlan::index_deletes(input, own, &mut Default::default()).with("snapshot", snapshot.id)
        };
        let Some(all) = index(Arc::new(BoundPredicate::True))? else { return Ok(()) };
        if vectors {
            for file in all.files() {
                let file = file?.file;
                let of = file.referenced_data_file.as_deref().filter(|_| file.format == FileFormat::Puffin);
                if of.is_some_and(|of| self.subject.vectors_for.contains(of)) {
                    let what = "another commit added a deletion vector for a data file to which this change adds one";
                    let clause = format!("no new deletion vector for {}", of.unwrap_or_default());
                    return Err(conflict(what, snapshot, &file.path, &file.partition, &clause));
                }
            }
        }
        if !deletes {
            return Ok(());
        }
        self.no_deletes_of_removed(snapshot, &all)?;
        if !self.preconditions.no_new_deletes {
            return Ok(());
        }
        let matching = if *self.filter == BoundPredicate::True { Some(all) } else { index(self.filter.clone())? };
        for file in matching.iter().flat_map(|index| index.files()) {
            let file = file?.file;
            let everywhere = file.content == FileContent::EqualityDeletes && file.partition.values.is_empty();
            if everywhere || self.in_partitions(&file.partition) {
                let what = "another commit added deletes that conflict with this change";
                let clause = format!("no new delete files that may match {}", self.filter_text());
                return Err(conflict(what, snapshot, &file.path, &file.partition, &clause));
            }
        }
        Ok(())
    }

    fn no_deletes_of_removed(&self, snapshot: &Arc<Snapshot>, index: &Arc<DeleteIndex>) -> Result<()> {
        let files = self.subject.removed_data;
        for file in index.files().filter(|_| self.subject.moves_rows) {
            let file = file?.file;
            if file.content == FileContent::EqualityDeletes && !file.partition.values.is_empty() {
                let what =
                    "another commit added equality deletes to a partition, and this change moves rows between specs";
                let clause = "no new equality deletes of partitions";
                return Err(conflict(what, snapshot, &file.path, &file.partition, clause));
            }
        }
        let batch = batch_of(files, self.since_number, index.key_fields().collect())?;
        let attached = index.attach(&batch)?;
        for (k, data) in files.iter().enumerate() {
            for delete in attached.refs(k)? {
                let reaches_new =
                    delete.file.content == FileContent::EqualityDeletes && self.subject.keeps_sequence_number;
                if !reaches_new {
                    let what = "another commit deleted rows of a data file that this change replaces";
                    let clause = format!("no new deletes for {}", data.path);
                    return Err(conflict(what, snapshot, &delete.file.path, &data.partition, &clause));
                }
            }
        }
        Ok(())
    }
}

fn conflict(what: &str, snapshot: &Snapshot, file: &str, partition: &Partition, clause: &str) -> Error {
    let partition = if partition.values.is_empty() { "unpartitioned".to_owned() } else { partition.path() };
    Error::conflict(what)
        .with("snapshot", snapshot.id)
        .with("operation", snapshot.operation().unwrap_or("unknown"))
        .with("file", file)
        .with("partition", partition)
        .with("clause", clause)
        .hint(RUN_AGAIN)
}

/// Builds a batch of data files as planning uses it, with one data sequence number and the metrics of some columns.
fn batch_of(files: &[DataFile], sequence_number: i64, mut fields: Vec<FieldId>) -> Result<KeptEntries> {
    fields.sort_unstable();
    fields.dedup();
    let metric = |id: &FieldId| MetricColumn { field_id: *id, ..MetricColumn::default() };
    let mut columns = EntryColumns { metrics: fields.iter().map(metric).collect(), ..EntryColumns::default() };
    let mut groups: Vec<Option<PartitionGroup>> = Vec::new();
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let residual = Arc::new(BoundPredicate::True);
    for file in files {
        let number = *numbers.entry(partition_key(&file.partition)).or_insert_with(|| {
            groups.push(Some(PartitionGroup { partition: file.partition.clone(), residual: residual.clone() }));
            (groups.len() - 1) as u32
        });
        columns.partition.push(number);
        columns.status.push(ADDED);
        columns.content.push(file.content);
        columns.format.push(file.format);
        columns.sequence_number.push(Some(sequence_number));
        columns.record_count.push(file.record_count);
        columns.size_bytes.push(file.size_bytes);
        let offsets = columns.split_offsets.push(file.split_offsets.as_deref());
        if !columns.path.push(Some(file.path.as_bytes())) || !offsets {
            return Err(Error::unsupported("a commit removes files with 4 GiB of paths"));
        }
        let metrics = file.metrics.as_ref().map(|m| m.get()).transpose()?;
        for column in &mut columns.metrics {
            let id = column.field_id;
            let count = |map: Option<&crate::format::task::FieldMap<i64>>| {
                map.and_then(|m| m.get(&id)).copied().unwrap_or(MISSING)
            };
            column.value_count.push(count(metrics.and_then(|m| m.value_counts.as_ref())));
            column.null_count.push(count(metrics.and_then(|m| m.null_value_counts.as_ref())));
            column.nan_count.push(count(metrics.and_then(|m| m.nan_value_counts.as_ref())));
            let lower = metrics.and_then(|m| m.lower_bounds.as_ref()?.get(&id));
            let upper = metrics.and_then(|m| m.upper_bounds.as_ref()?.get(&id));
            if !column.lower.push(lower.map(Vec::as_slice)) || !column.upper.push(upper.map(Vec::as_slice)) {
                return Err(Error::unsupported("a commit removes files with 4 GiB of bounds"));
            }
        }
    }
    let rows = (0..files.len() as u32).collect();
    Ok(KeptEntries { columns, rows, groups })
}

#[cfg(test)]
#[path = "preconditions_tests.rs"]
mod tests;
