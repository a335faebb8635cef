//! Producing snapshots: the files that one adds and removes, its preconditions and its manifests.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use frazil::error::Result;
//! # fn f(store: Arc<dyn frazil::store::Store>, base: frazil::iceberg::spec::metadata::TableMetadata,
//! #      old: Vec<frazil::format::task::DataFile>, new: Vec<frazil::format::task::DataFile>) -> Result<()> {
//! use frazil::iceberg::commit::preconditions::Preconditions;
//! use frazil::iceberg::commit::producer::SnapshotProducer;
//! use frazil::iceberg::commit::snapshot_input::Operation;
//!
//! let mut change = SnapshotProducer::new(store, Operation::Overwrite)
//!     .add_files(new)
//!     .remove_files(old)
//!     .with_preconditions(Preconditions {
//!         since: base.current_snapshot_id,
//!         no_new_deletes: true,
//!         ..Preconditions::default()
//!     });
//! let next = change.prepare(&base, 1_700_000_000_000)?;
//! # Ok(()) }
//! ```
//!
//! [`SnapshotProducer::prepare`] builds one attempt on one version of the table:
//! - it checks the [`Preconditions`] (`preconditions`);
//! - it writes the manifests of added files, once for all attempts;
//! - it takes removed files out of their manifests (`removal`);
//! - it merges small manifests (`merge`);
//! - it computes the summary (`summary`) and writes the manifest list.
//!
//! The module `committing` publishes the result and retries on newer versions.
//!
//! No step deletes a file that may be live. A caller that knows how the commit ended calls
//! [`SnapshotProducer::clean_up`] or [`SnapshotProducer::committed`].
//!
//! Source: Iceberg specification, "Snapshots", "Sequence Numbers", "Row Lineage", "Commit Conflict Resolution and
//! Retry"; where it is silent, Java's `MergingSnapshotProducer`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::expr::Predicate;
use crate::format::task::{DataFile, FileContent, Partition};
use crate::iceberg::commit::fingerprint::CommitFingerprint;
use crate::iceberg::commit::manifests::{ManifestWriter, UNASSIGNED};
use crate::iceberg::commit::merge::Merger;
use crate::iceberg::commit::preconditions::{Preconditions, Subject};
use crate::iceberg::commit::removal::{Dangling, FileId, FileRemoval, Outcome};
use crate::iceberg::commit::rewrite::ManifestRewrite;
use crate::iceberg::commit::row_ids;
use crate::iceberg::commit::snapshot_input::{Operation, SnapshotInput, Target, is_vector};
use crate::iceberg::commit::summary::Summary;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile, ManifestListHeader};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{Location, Store};
use crate::types::hash::murmur3_bytes;

/// The most entries of a new manifest. More files make more manifests, so that planning can skip and distribute them.
const FILES_PER_MANIFEST: usize = 10_000;

/// The summary key that identifies the files of an append. It shows when the same files are committed a second time.
const FILES_ID: &str = "frazil.files-id";

/// Produces one new snapshot. Holds its input and the state of its attempts.
#[derive(Debug)]
pub struct SnapshotProducer {
    input: SnapshotInput,
    state: AttemptState,
}

/// State that the attempts to commit one snapshot share.
#[derive(Debug)]
struct AttemptState {
    writer: ManifestWriter,
    data_removal: FileRemoval,
    delete_removal: FileRemoval,
    mergers: [Merger; 2],
    rewrite: Option<ManifestRewrite>,
    fingerprint: Option<CommitFingerprint>,
    /// The number of entries that the last attempt's rewrite of manifests wrote.
    processed: Option<i64>,
    /// Manifests of the added files, with their format version. The first attempt writes them and later attempts reuse
    /// them.
    new_manifests: Option<(u8, Vec<ManifestFile>)>,
    /// Snapshots that were already checked against the preconditions.
    checked: HashSet<i64>,
    /// The last attempt's manifest list and the files that it names.
    used: HashSet<String>,
}

/// The manifests of one attempt, and its counts.
struct Tree {
    manifests: Vec<ManifestFile>,
    summary: Summary,
    replaced: usize,
}

/// Why deletes by keys can't follow new rows in one snapshot.
pub(crate) const NOT_REACHED: &str = "the second deletes by keys, which reach no rows of the same snapshot";

impl SnapshotProducer {
    /// Creates an empty change of branch `main`. The store writes its files.
    pub fn new(store: Arc<dyn Store>, operation: Operation) -> SnapshotProducer {
        SnapshotProducer {
            input: SnapshotInput::new(operation),
            state: AttemptState {
                writer: ManifestWriter::new(store),
                data_removal: FileRemoval::default(),
                delete_removal: FileRemoval::default(),
                mergers: Default::default(),
                rewrite: None,
                fingerprint: None,
                processed: None,
                new_manifests: None,
                checked: HashSet::new(),
                used: HashSet::new(),
            },
        }
    }

    /// Creates an append of data files. A later append of exactly the same files is detected and does nothing.
    pub fn append(store: Arc<dyn Store>, files: Vec<DataFile>) -> SnapshotProducer {
        let id = files_id(files.iter().map(|f| f.path.as_str()));
        let mut change = SnapshotProducer::new(store, Operation::Append).add_files(files);
        change.input.files_id = Some(id);
        change
    }

    /// Makes no snapshot, but checks for conflicts as if it made one. A transaction that found nothing to do uses this:
    /// its finding must still be true when it is committed.
    #[must_use]
    pub fn only_checking(mut self) -> Self {
        self.input.only_checks = true;
        self
    }

    /// Whether the change makes no snapshot.
    pub fn only_checks(&self) -> bool {
        self.input.only_checks
    }

    /// Identifies the change by these messages. A later change with the same messages is detected and does nothing. A
    /// later change with some of these messages and others fails.
    #[must_use]
    pub fn once(mut self, files: CommitFingerprint) -> Self {
        self.input.files_id = (!files.is_empty()).then(|| files_id(files.names()));
        self.state.fingerprint = Some(files);
        self
    }

    /// Commits to this branch instead of `main`. A new branch starts at the current snapshot.
    #[must_use]
    pub fn on_branch(mut self, name: &str) -> Self {
        self.input.target = Target::Branch(name.to_owned());
        self
    }

    /// Only stages the snapshot: the table contains it, but it is on no branch.
    #[must_use]
    pub fn staged(mut self) -> Self {
        self.input.target = Target::Staged;
        self
    }

    /// Adds data files, position and equality delete files, and deletion vectors. The commit sets their sequence
    /// numbers and row ids and ignores those of the files. The exception is a sequence number of a delete file, which
    /// stays if it is set (rewrites of deletes).
    #[must_use]
    pub fn add_files(mut self, files: impl IntoIterator<Item = DataFile>) -> Self {
        let (data, deletes): (Vec<_>, Vec<_>) = files.into_iter().partition(|f| f.content == FileContent::Data);
        self.input.added_data.extend(data);
        self.input.added_deletes.extend(deletes);
        self
    }

    /// Removes data and delete files, identified by their `FileId`. Their partition and sequence numbers limit the
    /// manifests to search. All of the files must still be in the table.
    #[must_use]
    pub fn remove_files(mut self, files: impl IntoIterator<Item = DataFile>) -> Self {
        for file in files {
            if file.content == FileContent::Data {
                self.state.data_removal.add_file(&file);
                self.input.removed_data.push(file);
            } else {
                self.state.delete_removal.add_file(&file);
            }
        }
        self
    }

    /// Removes all files that these partitions have when the change is committed.
    #[must_use]
    pub fn remove_partitions(mut self, partitions: &[Arc<Partition>]) -> Self {
        for partition in partitions {
            self.state.data_removal.add_partition(partition);
            self.state.delete_removal.add_partition(partition);
        }
        self
    }

    /// Removes the files in which every row matches, as of the commit. A data file in which some rows match and others
    /// may not is a conflict.
    #[must_use]
    pub fn remove_where(mut self, filter: &Predicate) -> Self {
        self.state.data_removal.add_filter(filter.clone());
        self.state.delete_removal.add_filter(filter.clone());
        self
    }

    /// Sets the data sequence number of added data files. Use the number of the snapshot that a rewrite read. Equality
    /// deletes that were added since then still apply to the rewritten rows.
    #[must_use]
    pub fn data_sequence_number(mut self, number: i64) -> Self {
        self.input.data_sequence_number = Some(number);
        self
    }

    /// Sets the preconditions of the change.
    #[must_use]
    pub fn with_preconditions(mut self, preconditions: Preconditions) -> Self {
        self.input.preconditions = preconditions;
        self
    }

    /// Sets the format version at which the change was planned. After an upgrade the commit is a conflict if it
    /// rewrites rows without their new ids or adds position delete files. It is also a conflict if rows got ids after
    /// the snapshot that the preconditions name.
    #[must_use]
    pub fn planned_at(mut self, format_version: u8) -> Self {
        self.input.planned_version = Some(format_version);
        self
    }

    /// Adds entries to the snapshot's summary. They can't override computed entries.
    #[must_use]
    pub fn with_summary(mut self, members: impl IntoIterator<Item = (String, String)>) -> Self {
        self.input.summary.extend(members);
        self
    }

    /// Makes the change own the files that it adds. They are deleted if the change certainly fails.
    #[must_use]
    pub fn owning_files(mut self) -> Self {
        self.input.owns_files = true;
        self
    }

    /// Excludes these files from the owned ones. Their writer decides whether to delete them.
    #[must_use]
    pub fn lending(mut self, paths: impl IntoIterator<Item = String>) -> Self {
        self.input.borrowed.extend(paths);
        self
    }

    /// Names the snapshots of the same transaction. They are not conflicts.
    #[must_use]
    pub fn after(mut self, own: impl IntoIterator<Item = i64>) -> Self {
        self.input.own.extend(own);
        self
    }

    /// Rewrites manifests without any other change.
    #[must_use]
    pub fn rewriting_manifests(mut self, rewrite: ManifestRewrite) -> Self {
        self.state.rewrite = Some(rewrite);
        self
    }

    /// Whether it adds data files.
    pub(crate) fn adds_rows(&self) -> bool {
        self.input.added().any(|file| file.content == FileContent::Data)
    }

    /// Whether it adds files.
    pub(crate) fn adds_files(&self) -> bool {
        self.input.added().next().is_some()
    }

    /// Checks that this change and a later one can become one snapshot that means the same as the two.
    ///
    /// # Errors
    /// `Unsupported` with the reason.
    pub(crate) fn check_joinable(&self, later: &SnapshotProducer) -> Result<()> {
        let is_special = |change: &SnapshotProducer| {
            let state = &change.state;
            state.rewrite.is_some() || state.fingerprint.is_some() || change.input.data_sequence_number.is_some()
        };
        let is_open = later.state.data_removal.is_open() || later.state.delete_removal.is_open();
        let why = if is_special(self) || is_special(later) {
            "one of them rewrites files or commits messages"
        } else if self.input.target != later.input.target {
            "they go to different branches"
        } else if is_open && self.adds_files() {
            "the second removes files that the first may have added"
        } else if self.adds_rows() && later.input.added().any(|file| file.content == FileContent::EqualityDeletes) {
            NOT_REACHED
        } else if !self.input.preconditions.fits(&later.input.preconditions) {
            "they were planned on different snapshots"
        } else {
            return Ok(());
        };
        Err(Error::unsupported(format!("two changes can't become one snapshot: {why}")))
    }

    /// This change and a later one as one snapshot, with the later one's id. Both belong to one transaction, and the
    /// later one saw the rows of this one. They must be joinable.
    pub(crate) fn joined(mut self, mut later: SnapshotProducer) -> SnapshotProducer {
        self.undo();
        later.undo();
        let new: HashSet<FileId> = self.input.added().map(FileId::of).collect();
        let SnapshotProducer { input, state } = later;
        let mut cancelled = self.state.data_removal.join(state.data_removal, &new);
        cancelled.extend(self.state.delete_removal.join(state.delete_removal, &new));
        self.input.join(input, &cancelled);
        self.state.writer.snapshot_id = state.writer.snapshot_id;
        self.state.checked.clear();
        self
    }

    /// Sets the snapshot's id. Call it only before the first attempt.
    pub(crate) fn with_snapshot_id(mut self, id: i64) -> Self {
        self.state.writer.snapshot_id = id;
        self
    }

    /// The id of the snapshot. It is the same in every attempt.
    pub fn snapshot_id(&self) -> i64 {
        self.state.writer.snapshot_id
    }

    /// Whether the table already has the change, from another attempt or from an earlier commit of the same files.
    pub fn is_applied(&self, metadata: &TableMetadata) -> bool {
        if metadata.snapshot_by_id(self.snapshot_id()).is_some() {
            return true;
        }
        let same_files =
            |s: &Snapshot| self.input.files_id.is_some() && s.summary.get(FILES_ID) == self.input.files_id.as_ref();
        if !metadata.snapshots.iter().any(|s| same_files(s)) {
            return false;
        }
        // A change that is on another branch or was rolled back is not in this branch.
        let branch = match (&self.input.target, self.input.parent(metadata)) {
            (Target::Branch(_), Ok(Some(head))) => metadata.ancestors(head.id),
            (Target::Branch(_), _) => Vec::new(),
            (Target::Staged, _) => metadata.snapshots.iter().collect(),
        };
        branch.iter().any(|s| same_files(s))
    }

    /// Builds the metadata with the snapshot on top of `base`, and writes the files that it needs.
    ///
    /// # Errors
    /// - `CommitConflict` if a precondition does not hold or a file to remove is missing.
    /// - `InvalidInput` for files that this table can't have, or a branch that is a tag.
    /// - Errors of the store; `CorruptTable` if a manifest of the base is damaged.
    pub fn prepare(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.input.check_version(base)?;
        self.check_files(base)?;
        let parent = self.input.parent(base)?;
        row_ids::check(&self.input, base, parent.as_ref())?;
        self.check_preconditions(base, parent.as_ref())?;
        if let Some(fingerprint) = &mut self.state.fingerprint {
            let staged = self.input.target == Target::Staged;
            fingerprint.check(self.state.writer.store.as_ref(), base, parent.as_ref(), staged)?;
        }
        if self.input.only_checks {
            return Ok(base.clone());
        }
        let mut tree = self.tree(base, parent.as_deref())?;
        let numbers = tree.manifests.iter().map(|m| m.sequence_number);
        let sequence_number = base.next_sequence_number(numbers)?;
        for m in tree.manifests.iter_mut().filter(|m| m.sequence_number == UNASSIGNED) {
            m.sequence_number = sequence_number;
            if m.min_sequence_number == UNASSIGNED || m.min_sequence_number > sequence_number {
                m.min_sequence_number = sequence_number;
            }
        }
        let first_row_id =
            (base.format_version >= 3).then(|| row_ids::first_free(base, &tree.manifests)).transpose()?;
        let added_rows = first_row_id.map(|first| row_ids::number_rows(&mut tree.manifests, first)).transpose()?;
        let header = ManifestListHeader {
            format_version: base.format_version,
            snapshot_id: self.snapshot_id(),
            parent_snapshot_id: parent.as_ref().map(|p| p.id),
            sequence_number,
            first_row_id,
        };
        let summary = self.summary(base, parent.as_deref(), &tree)?;
        let list = self.state.writer.write_list(base, &header, &tree.manifests)?;
        self.state.used = tree.manifests.into_iter().map(|m| m.path).chain([list.clone()]).collect();
        let snapshot = Snapshot {
            id: self.snapshot_id(),
            parent_id: parent.as_ref().map(|p| p.id),
            sequence_number,
            timestamp_ms: now_ms.max(parent.as_ref().map_or(i64::MIN, |p| p.timestamp_ms)),
            manifest_list: Some(list),
            summary,
            schema_id: Some(base.current_schema_id),
            first_row_id,
            added_rows,
            ..Snapshot::default()
        };
        match &self.input.target {
            Target::Branch(name) => base.add_snapshot(snapshot, name, now_ms),
            Target::Staged => base.stage_snapshot(snapshot, now_ms),
        }
    }

    /// Deletes the files that attempts wrote, so that the change can be prepared again. Call it only if no attempt was
    /// committed.
    pub fn undo(&mut self) {
        self.state.writer.delete(|_| true);
        self.forget_manifests();
    }

    /// Deletes the files that attempts wrote, and added files that the change owns. Call it only if the change
    /// certainly was not committed.
    pub fn clean_up(&mut self) {
        self.undo();
        if self.input.owns_files {
            let added = self.input.added().map(|f| f.path.as_str());
            let paths: HashSet<&str> = added.chain(self.input.abandoned.iter().map(String::as_str)).collect();
            let own = paths.into_iter().filter(|path| !self.input.borrowed.contains(*path));
            self.state.writer.store.discard(own.map(str::to_owned).collect());
        }
    }

    /// Deletes the files that abandoned attempts wrote. Call it only if `metadata` has the change.
    pub fn committed(&mut self, metadata: &TableMetadata) {
        let Some(snapshot) = metadata.snapshot_by_id(self.snapshot_id()) else {
            // Another change committed the same files, so nothing of this one is in the table.
            if self.is_applied(metadata) {
                self.state.writer.delete(|_| true);
            }
            return;
        };
        let list = snapshot.manifest_list.clone().unwrap_or_default();
        let mut used = std::mem::take(&mut self.state.used);
        if !used.contains(&list) {
            // An earlier attempt succeeded, but its reply was lost.
            let Ok(manifests) = load_manifests(self.state.writer.store.as_ref(), &Location::recorded(), snapshot)
            else {
                return;
            };
            used = manifests.into_iter().map(|m| m.path).chain([list]).collect();
        }
        self.state.writer.delete(|path| !used.contains(path));
        self.state.writer.store.discard(self.input.abandoned.clone());
    }

    /// Checks that a table of this version can have the files.
    fn check_files(&self, base: &TableMetadata) -> Result<()> {
        self.input.check_files(base)?;
        let removes = !self.state.data_removal.is_empty() || !self.state.delete_removal.is_empty();
        match self.input.operation == Operation::Append && (removes || !self.input.added_deletes.is_empty()) {
            true => Err(Error::invalid("an append can only add data files")),
            false => Ok(()),
        }
    }

    fn check_preconditions(&mut self, base: &TableMetadata, parent: Option<&Arc<Snapshot>>) -> Result<()> {
        let vectors = self.input.added_deletes.iter().filter(|f| is_vector(f));
        let subject = Subject {
            store: &self.state.writer.store,
            removed_data: &self.input.removed_data,
            vectors_for: vectors.filter_map(|f| f.referenced_data_file.as_deref()).collect(),
            keeps_sequence_number: self.input.data_sequence_number.is_some(),
            moves_rows: self.input.moves_rows(),
            own: &self.input.own,
        };
        let checked = crate::iceberg::commit::preconditions::check(
            &self.input.preconditions,
            &subject,
            base,
            parent,
            &self.state.checked,
        )?;
        self.state.checked.extend(checked);
        Ok(())
    }

    /// The manifests of the new snapshot, newest first, data before deletes.
    fn tree(&mut self, base: &TableMetadata, parent: Option<&Snapshot>) -> Result<Tree> {
        if let (Some(mut rewrite), Some(parent)) = (self.state.rewrite.take(), parent) {
            let rewritten = rewrite.apply(&self.state.writer, base, self.kept_manifests(base, parent)?);
            self.state.rewrite = Some(rewrite);
            let crate::iceberg::commit::rewrite::Rewritten { manifests, replaced, entries } = rewritten?;
            self.state.processed = Some(entries);
            return Ok(Tree { manifests, summary: Summary::default(), replaced });
        }
        let (new_data, new_deletes) = in_kinds(self.own_manifests(base)?);
        let (data, deletes) = match parent {
            Some(parent) => in_kinds(self.kept_manifests(base, parent)?),
            None => Default::default(),
        };
        crate::iceberg::commit::preconditions::check_specs(&self.input.preconditions, &data)?;
        let data = self.state.data_removal.apply(&self.state.writer, base, data, &Dangling::default())?;
        if let Some(id) = &data.unread {
            return Err(Error::conflict("the table lists a file more times than this change read it")
                .with("file", id)
                .with("clause", "all rows of removed files are rewritten")
                .hint("Nothing was committed. Compact the table with rewrite_all=True, then run the operation again"));
        }
        let dangling = self.dangling(base, &data);
        let deletes = self.state.delete_removal.apply(&self.state.writer, base, deletes, &dangling)?;
        let mut summary = Summary::default();
        self.input.added_data.iter().chain(&self.input.added_deletes).for_each(|f| summary.add(f));
        data.files().chain(deletes.files()).for_each(|f| summary.remove(f));
        summary.duplicates = data.duplicates().chain(deletes.duplicates()).count();
        summary.duplicate_rows = data.duplicates().fold(0, |n, f| n.saturating_add(f.record_count));
        let mut tree = Tree { manifests: Vec::new(), summary, replaced: data.replaced + deletes.replaced };
        let [data_merger, delete_merger] = &mut self.state.mergers;
        for (merger, new, old) in [(data_merger, new_data, data), (delete_merger, new_deletes, deletes)] {
            let mut all = new;
            // Manifests without live files are dropped, except those of this commit that record the removal.
            let has_live = |m: &ManifestFile| m.added_files_count != Some(0) || m.existing_files_count != Some(0);
            all.extend(old.manifests.into_iter().filter(|m| has_live(m) || self.state.writer.is_own(m)));
            let (merged, replaced) = merger.merge(&self.state.writer, base, all)?;
            tree.manifests.extend(merged);
            tree.replaced += replaced;
        }
        Ok(tree)
    }

    /// The parent's manifests. Fills in counts that a v1 list may lack and later versions require.
    fn kept_manifests(&self, base: &TableMetadata, parent: &Snapshot) -> Result<Vec<ManifestFile>> {
        let store = self.state.writer.store.as_ref();
        let mut all = load_manifests(store, &Location::recorded(), parent).with("snapshot", parent.id)?;
        if base.format_version > 1 {
            all.iter_mut().try_for_each(|m| crate::iceberg::commit::live::fill_counts(store, m))?;
        }
        Ok(all)
    }

    /// The delete files that apply to nothing after the data files are removed.
    fn dangling(&self, base: &TableMetadata, data: &Outcome) -> Dangling {
        let live =
            data.manifests.iter().filter(|m| m.added_files_count != Some(0) || m.existing_files_count != Some(0));
        let lowest = live.map(|m| m.min_sequence_number).filter(|n| *n != UNASSIGNED).min();
        let older_than =
            [lowest, self.input.data_sequence_number, Some(base.last_sequence_number)].into_iter().flatten().min();
        // Only v3 has deletion vectors.
        if base.format_version < 3 {
            return Dangling { older_than: older_than.unwrap_or(0), ..Dangling::default() };
        }
        let partitions: HashMap<_, _> =
            data.files().map(|f| (partition_key(&f.partition), f.partition.clone())).collect();
        Dangling {
            data_files: Arc::new(data.files().map(|f| f.path.clone()).collect()),
            partitions: Arc::new(partitions),
            older_than: older_than.unwrap_or(0),
        }
    }

    /// The manifests of added files, written at the first attempt.
    fn own_manifests(&mut self, base: &TableMetadata) -> Result<Vec<ManifestFile>> {
        match &self.state.new_manifests {
            Some((version, done)) if *version == base.format_version => return Ok(done.clone()),
            // The table was upgraded after the last attempt.
            Some(_) => self.forget_manifests(),
            None => {}
        }
        let mut out = Vec::new();
        for (content, files) in
            [(ManifestContent::Data, &self.input.added_data), (ManifestContent::Deletes, &self.input.added_deletes)]
        {
            let mut by_spec: BTreeMap<i32, Vec<&DataFile>> = BTreeMap::new();
            for f in files {
                by_spec.entry(f.partition.spec_id).or_default().push(f);
            }
            for (spec_id, files) in by_spec {
                for chunk in files.chunks(FILES_PER_MANIFEST) {
                    let number = |f: &DataFile| match content {
                        ManifestContent::Data => self.input.data_sequence_number,
                        ManifestContent::Deletes => f.sequence_number,
                    };
                    let entries: Vec<_> = chunk.iter().map(|f| self.state.writer.added(f, number(f))).collect();
                    out.push(self.state.writer.write(base, content, spec_id, &entries)?);
                }
            }
        }
        self.state.new_manifests = Some((base.format_version, out.clone()));
        Ok(out)
    }

    fn forget_manifests(&mut self) {
        self.state.new_manifests = None;
        self.state.mergers.iter_mut().for_each(Merger::forget);
        self.state.data_removal.forget();
        self.state.delete_removal.forget();
    }

    fn summary(
        &self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        tree: &Tree,
    ) -> Result<BTreeMap<String, String>> {
        let (added, removed) = (tree.summary.get("added-records"), tree.summary.get("deleted-records"));
        let removed = removed.saturating_add(tree.summary.duplicate_rows);
        if self.input.operation == Operation::Replace && added > removed {
            return Err(Error::invalid(format!(
                "a replacement must not add rows: {added} are added, and {removed} are removed"
            )));
        }
        let mut out = self.input.summary.clone();
        out.extend(self.state.processed.map(|n| ("entries-processed".to_owned(), n.to_string())));
        tree.summary.write(base, parent, &mut out)?;
        out.extend(self.state.rewrite.iter().flat_map(|rewrite| rewrite.totals.clone()));
        let created = tree.manifests.iter().filter(|m| self.state.writer.is_own(m)).count();
        let counts = [
            ("manifests-created", created),
            ("manifests-kept", tree.manifests.len() - created),
            ("manifests-replaced", tree.replaced),
        ];
        out.extend(counts.into_iter().map(|(key, n)| (key.to_owned(), n.to_string())));
        out.insert("operation".into(), self.input.operation.as_str().into());
        if let Some(id) = &self.input.files_id {
            out.insert(FILES_ID.into(), id.clone());
        }
        out.extend(self.state.fingerprint.iter().filter_map(CommitFingerprint::member));
        Ok(out)
    }
}

/// A number that identifies these files. File names hold UUIDs, so a collision is very unlikely.
fn files_id<'f>(paths: impl Iterator<Item = &'f str>) -> String {
    let mut paths: Vec<&str> = paths.collect();
    paths.sort_unstable();
    let all = paths.join("\n");
    format!("{:08x}{:08x}", murmur3_bytes(all.as_bytes()), crc32fast::hash(all.as_bytes()))
}

fn in_kinds(manifests: Vec<ManifestFile>) -> (Vec<ManifestFile>, Vec<ManifestFile>) {
    manifests.into_iter().partition(|m| m.content == ManifestContent::Data)
}

#[cfg(test)]
#[path = "producer_tests.rs"]
mod tests;
