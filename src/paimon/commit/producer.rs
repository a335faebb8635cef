//! New snapshots: what one adds and removes, put on top of the latest one and published by creating its file.
//!
//! ```no_run
//! # use frazil::error::Result;
//! # use frazil::paimon::catalog::filesystem::TableFolder;
//! # use frazil::task::{DataFile, PaimonNewFile};
//! # fn f(folder: &TableFolder, old: Vec<DataFile>, new: Vec<PaimonNewFile>) -> Result<()> {
//! use frazil::paimon::commit::{Changes, Commit};
//!
//! let changes = Changes { added: new, removed: old, ..Changes::default() };
//! let snapshot = Commit::new(folder, changes).owning_files().run().into_result()?;
//! # Ok(()) }
//! ```
//!
//! Each attempt reads the latest snapshot, finds the entries of the commit (`changes`), checks that they fit (`conflicts`), merges
//! the manifests of all commits before (`merge`), writes the commit's own (`manifests`), puts index files together (`index`) and
//! creates `snapshot-N`, which only one writer can. Who loses the race begins again on the winner's snapshot.
//!
//! Files are removed only where it is certain that no snapshot has them.
//!
//! Source: Paimon specification, "Snapshot"; Java's `FileStoreCommitImpl` and `RenamingSnapshotCommit`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind, Result};
use crate::format::commit::now_ms;
use crate::format::commit_loop;
use crate::format::commit_loop::{CommitAttempt, RetryPolicy, Verdict};
use crate::format::task::{BucketHashes, DataFile, PaimonNewFile, WrittenAt};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::commit::changes::{Asked, stay_hidden, track_rows, upgraded};
use crate::paimon::commit::conflicts::{Meeting, check_buckets, check_first_time};
use crate::paimon::commit::hashes::Indexer;
use crate::paimon::commit::manifests::{Layout, MetadataFiles};
use crate::paimon::commit::merge::Merger;
use crate::paimon::manifest::entries::{ADD, DELETE};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, IndexEntry, read_index_manifest};
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::spec::partition::Paths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::{CURRENT_VERSION, Snapshot};
use crate::parallel::asking;
use crate::store::in_parallel;
use crate::store::location::join;
use crate::types::Value;
use crate::types::options::Options;

/// The identifier of commits that are not numbered.
pub const NO_IDENTIFIER: i64 = i64::MAX;

/// The option that says how often a commit is tried again.
const MAX_RETRIES: &str = "commit.max-retries";

/// What may have become of a file that was written and is gone.
const GONE: &str = "Its message was aborted; or it was committed, and the file has been compacted and expired since: look whether \
                    its rows are in the table before you write them again";

/// What a snapshot does to the table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitKind {
    /// Adds files.
    Append,
    /// Replaces files by others with the same rows.
    Compact,
    /// Removes files or rows.
    Overwrite,
}

impl CommitKind {
    /// As a snapshot says it.
    pub fn as_str(self) -> &'static str {
        match self {
            CommitKind::Append => "APPEND",
            CommitKind::Compact => "COMPACT",
            CommitKind::Overwrite => "OVERWRITE",
        }
    }
}

/// What a commit does, whatever the snapshot that it goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Data files to add.
    pub added: Vec<PaimonNewFile>,
    /// Data files to take out, as planning gave them. All must still be there.
    pub removed: Vec<DataFile>,
    /// Data files that go to another level as they are.
    pub moved: Vec<(DataFile, i32)>,
    /// Changelog files.
    pub changelog: Vec<PaimonNewFile>,
    /// Index files to add and to remove. One that takes the place of another (the hashes of a bucket, the deletion vectors of a
    /// data file) needs an entry that removes that.
    pub index: Vec<IndexEntry>,
    /// The keys of added rows that were given buckets as they came: those buckets get them into their hash indexes.
    pub hashes: Vec<BucketHashes>,
}

impl Changes {
    /// Whether nothing is done.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.moved.is_empty()
            && self.changelog.is_empty()
            && self.index.is_empty()
            && self.hashes.is_empty()
    }
}

/// What an overwrite takes out: files that are there when it is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Replaced {
    /// All.
    Everything,
    /// Those of the partitions that have these values; of all columns or some.
    Partition(Vec<(String, Option<Value>)>),
    /// Those of the partitions that files are added to.
    PartitionsOfAdded,
}

/// One commit, from its first attempt to its last.
#[derive(Debug)]
pub struct Commit {
    folder: TableFolder,
    changes: Changes,
    replaced: Option<Replaced>,
    kind: CommitKind,
    user: String,
    identifier: i64,
    watermark: Option<i64>,
    properties: BTreeMap<String, String>,
    checks_appends: bool,
    /// Whether it is still to be seen that the added files are there.
    checks_files: bool,
    /// Whether scans shall see all added files, without a compaction.
    shows_all: bool,
    /// The snapshot that the changes rely on, or that there was none.
    only_on: Option<Option<i64>>,
    owns_files: bool,
    files: MetadataFiles,
    /// The metadata files of the last attempt.
    used: HashSet<String>,
    /// Whether the table had the commit before: nothing of this one is in use.
    is_replay: bool,
    /// The commit is younger than this snapshot and this time.
    after: Option<WrittenAt>,
    /// The last snapshot that was looked through for the commit.
    looked_until: Option<i64>,
    /// The snapshot that has the commit, where that was found out afterwards.
    found: Option<Snapshot>,
    /// Whether the last attempt certainly was not published.
    is_lost: bool,
}

/// The table as an attempt finds it.
#[derive(Debug)]
pub struct Base {
    latest: Option<Snapshot>,
    schema: Arc<TableSchema>,
}

/// A snapshot to be published.
#[derive(Debug)]
pub struct Next {
    snapshot: Snapshot,
    bytes: Vec<u8>,
}

/// The lists that a snapshot names, with their lengths, and its index manifest.
struct Lists {
    base: (String, i64),
    delta: (String, i64),
    changelog: Option<(String, i64)>,
    index: Option<String>,
}

impl Commit {
    /// A commit to the folder's branch, by a user that nobody else is. It adds files, or overwrites if something is removed too.
    pub fn new(folder: &TableFolder, changes: Changes) -> Commit {
        let removes = !changes.removed.is_empty() || !changes.moved.is_empty();
        let vectors = changes.index.iter().any(|e| e.index_type == DELETION_VECTORS);
        Commit {
            folder: folder.clone(),
            kind: if removes || vectors { CommitKind::Overwrite } else { CommitKind::Append },
            changes,
            replaced: None,
            user: uuid::Uuid::new_v4().to_string(),
            identifier: NO_IDENTIFIER,
            watermark: None,
            properties: BTreeMap::new(),
            checks_appends: false,
            checks_files: false,
            shows_all: false,
            only_on: None,
            owns_files: false,
            files: MetadataFiles::new(folder.store().clone(), folder.root()),
            used: HashSet::new(),
            is_replay: false,
            after: None,
            looked_until: None,
            found: None,
            is_lost: false,
        }
    }

    /// Makes it a compaction: rows stay what they are.
    #[must_use]
    pub fn compacting(self) -> Self {
        Commit { kind: CommitKind::Compact, ..self }
    }

    /// Makes it take out what is there of these.
    #[must_use]
    pub fn overwriting(self, replaced: Replaced) -> Self {
        Commit { kind: CommitKind::Overwrite, replaced: Some(replaced), ..self }
    }

    /// Makes the commit known by a user and a number: made again it is seen, and does nothing.
    #[must_use]
    pub fn by(self, user: &str, identifier: i64) -> Self {
        Commit { user: user.to_owned(), identifier, ..self }
    }

    /// What its files were written after: no earlier snapshot has the commit. The sequence number is that of a snapshot.
    #[must_use]
    pub fn after(self, written_at: Option<WrittenAt>) -> Self {
        Commit { after: written_at, ..self }
    }

    /// The event time up to which all is there, milliseconds since the epoch. It never goes back.
    #[must_use]
    pub fn with_watermark(self, watermark_ms: i64) -> Self {
        Commit { watermark: Some(watermark_ms), ..self }
    }

    /// What the snapshot says beside.
    #[must_use]
    pub fn with_properties(self, properties: BTreeMap<String, String>) -> Self {
        Commit { properties, ..self }
    }

    /// Checks that added files fit those that are there, and are not among them, which commits that only append do not.
    #[must_use]
    pub fn checking_appends(self) -> Self {
        Commit { checks_appends: true, ..self }
    }

    /// Looks whether added files are still there, unless the table has the commit already: files that others wrote, perhaps long
    /// ago, may have been committed, compacted and expired since.
    #[must_use]
    pub fn checking_files(self) -> Self {
        Commit { checks_files: true, ..self }
    }

    /// Makes an overwrite fail with `CommitConflict` if its files lie over each other in a table whose scans leave out such.
    #[must_use]
    pub fn showing_all(self) -> Self {
        Commit { shows_all: true, ..self }
    }

    /// Lets no other commit come between a snapshot (or none, as there was) and this one.
    #[must_use]
    pub fn only_on(self, snapshot: Option<i64>) -> Self {
        Commit { only_on: Some(snapshot), ..self }
    }

    /// Makes the commit own the data and index files that it adds: if it certainly fails, they are deleted.
    #[must_use]
    pub fn owning_files(self) -> Self {
        Commit { owns_files: true, ..self }
    }

    /// Commits: the snapshot that has the changes, or why there is none.
    pub fn run(mut self) -> Verdict<Snapshot> {
        let policy = match self.newest().and_then(|base| retry_policy(base.schema.options())) {
            Ok(policy) => policy,
            Err(e) => {
                asking(None, || self.clean_up());
                return Verdict::Failed(e);
            }
        };
        let verdict = commit_loop::run(&mut self, &policy);
        // Also after an interrupt, which has made itself heard.
        asking(None, || match &verdict {
            Verdict::Committed(_) if self.is_replay => self.files.delete_all_but(&HashSet::new()),
            Verdict::Committed(_) => self.files.delete_all_but(&self.used),
            Verdict::Failed(_) => self.clean_up(),
            Verdict::Unknown(_) => {}
        });
        verdict
    }

    /// Removes what was written for a commit that certainly failed.
    fn clean_up(&mut self) {
        self.files.delete_all_but(&HashSet::new());
        if !self.owns_files {
            return;
        }
        let store = self.folder.store().clone();
        for new in self.changes.added.iter().chain(&self.changes.changelog) {
            let folder = new.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let beside = new.extra_files.iter().map(|name| join(folder, name));
            // A left-over is a harmless orphan.
            [new.file.path.clone()].into_iter().chain(beside).for_each(|path| drop(store.delete(&path)));
        }
        let Ok(base) = self.newest() else { return };
        let Ok(paths) = Paths::new(self.folder.root(), &base.schema) else { return };
        for entry in self.changes.index.iter().filter(|e| e.kind == ADD) {
            let partition = crate::paimon::spec::partition::partition_of(&base.schema, &entry.partition);
            let external = entry.external_path.as_deref();
            let path = partition.and_then(|p| paths.index_file(&p, entry.bucket, &entry.file_name, external));
            path.into_iter().for_each(|path| drop(store.delete(&path)));
        }
    }

    /// The snapshot that shows that the table has the commit already. Its user numbers commits in ascending order, so the first
    /// look is done with a later one too.
    fn replayed(&self, latest: &Snapshot) -> Result<Option<Snapshot>> {
        if self.identifier == NO_IDENTIFIER {
            return Ok(None);
        }
        let since = self.looked_until.unwrap_or(0);
        for id in self.folder.snapshot_ids()?.into_iter().rev().filter(|id| *id > since && *id <= latest.id) {
            let snapshot = match self.folder.snapshot(id) {
                // It expired just now.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
                snapshot => snapshot?,
            };
            // By both, since after a rollback numbers are given again.
            if self.after.is_some_and(|after| id <= after.sequence_number && snapshot.time_ms < after.time_ms) {
                return Ok(None);
            }
            let same_kind = snapshot.commit_kind == self.kind.as_str();
            match snapshot.commit_identifier.cmp(&self.identifier) {
                _ if snapshot.commit_user != self.user => {}
                Ordering::Less => return Ok(None),
                Ordering::Equal if same_kind => return Ok(Some(snapshot)),
                Ordering::Greater if self.looked_until.is_none() => return Ok(Some(snapshot)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether the snapshot is the one that the changes rely on, if they do on a single one.
    fn check_base(&self, base: &Base) -> Result<()> {
        let latest = base.latest.as_ref().map(|s| s.id);
        match self.only_on {
            Some(wanted) if wanted != latest => {
                Err(Error::conflict("another commit came before this one, which relies on what was there")
                    .with("snapshot", latest.unwrap_or_default()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the added files are there.
    fn check_files(&self) -> Result<()> {
        let store = self.folder.store();
        let check = |i: usize| {
            let Some(new) = self.changes.added.get(i) else { return Ok(()) };
            let path = &new.file.path;
            store.size(path).map(drop).map_err(|e| match e.kind() {
                ErrorKind::NotFound => {
                    Error::invalid("a written file is not there any more").with("path", path).hint(GONE)
                }
                _ => e,
            })
        };
        in_parallel(store.as_ref(), self.changes.added.len(), check).map(drop)
    }

    /// The entries that the commit makes of its changes, checked.
    fn entries(
        &self,
        base: &Base,
        index_base: &[IndexEntry],
    ) -> Result<(Vec<FileEntry>, Vec<FileEntry>, Vec<IndexEntry>)> {
        let mut asked = Asked::new(&base.schema, &self.changes, self.replaced.as_ref());
        let mut added = asked.added(&self.changes.added)?;
        if self.replaced.is_some() {
            added = upgraded(&base.schema, added)?;
            check_buckets(&added)?;
            if self.shows_all && stay_hidden(&base.schema, &added)? {
                return Err(Error::conflict(
                    "rows of several writers lie over each other, which scans leave out until a compaction",
                ));
            }
        }
        let changelog = asked.added(&self.changes.changelog)?;
        let index = asked.index(index_base, &added)?;
        let checks = self.checks_appends || self.kind != CommitKind::Append;
        let live = match &base.latest {
            Some(latest) if checks => asked.base(self.folder.manifests(), latest, &added)?,
            _ => Vec::new(),
        };
        if self.checks_appends {
            check_first_time(&live, &added)?;
            if let Some(oldest) = self.oldest_after_gap(base)? {
                check_first_time(&asked.base(self.folder.manifests(), &oldest, &added)?, &added)?;
            }
        }
        let delta = asked.delta(&live, added)?;
        if checks {
            let (schema, kind) = (&*base.schema, self.kind);
            Meeting { schema, kind, base: &live, delta: &delta, index_base, index_delta: &index }.check()?;
        }
        Ok((delta, changelog, index))
    }

    /// The oldest snapshot, if others have expired that may have been this commit's. What they added and it does not have was
    /// compacted before, and is deleted.
    fn oldest_after_gap(&self, base: &Base) -> Result<Option<Snapshot>> {
        let Some(after) = self.after else { return Ok(None) };
        let latest = base.latest.as_ref().map_or(0, |latest| latest.id);
        match self.folder.snapshot_ids()?.into_iter().min() {
            Some(oldest) if oldest > after.sequence_number + 1 && oldest < latest => {
                self.folder.snapshot(oldest).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Writes the manifests of one attempt, and merges those of all commits before.
    fn write(
        &mut self,
        base: &Base,
        delta: &[FileEntry],
        changelog: &[FileEntry],
        (index_base, indexed): (Vec<IndexEntry>, &[IndexEntry]),
    ) -> Result<Lists> {
        let (store, root) = (self.folder.store().clone(), self.folder.root().to_owned());
        let (schema, latest, files) = (&*base.schema, base.latest.as_ref(), &mut self.files);
        let layout = Layout::of(schema)?;
        let before = latest.map(|s| data_manifests(self.folder.manifests(), s)).transpose()?.unwrap_or_default();
        let merger = Merger { store: store.as_ref(), root: &root, schema, layout: &layout };
        let before = merger.merge(files, before)?;
        let base_list = files.write_list(&before, &layout)?;
        let own = files.write_manifests(delta, &layout)?;
        let delta_list = files.write_list(&own, &layout)?;
        let changed = files.write_manifests(changelog, &layout)?;
        let changelog = if changed.is_empty() { None } else { Some(files.write_list(&changed, &layout)?) };
        let has_buckets = schema.has_primary_key() || schema.options().bucket()? > 0;
        let index = match indexed.is_empty() {
            true => latest.and_then(|s| s.index_manifest.clone()),
            false => Some(
                files
                    .write_index(&crate::paimon::commit::index::combined(index_base, indexed, has_buckets)?, &layout)?,
            ),
        };
        let manifests = before.iter().chain(&own).chain(&changed).map(|m| &m.file_name);
        let lists = [&base_list, &delta_list].into_iter().chain(&changelog).map(|(name, _)| name);
        let hashes = indexed.iter().map(|e| &e.file_name);
        self.used = manifests.chain(lists).chain(&index).chain(hashes).cloned().collect();
        Ok(Lists { base: base_list, delta: delta_list, changelog, index })
    }

    /// The statistics file of the latest snapshot, as long as the schema is the same.
    fn statistics(&self, latest: &Snapshot, schema: &TableSchema) -> Result<Option<String>> {
        let Some(name) = &latest.statistics else { return Ok(None) };
        let path = join(&join(self.folder.root(), "statistics"), crate::paimon::spec::partition::checked_name(name)?);
        let json: Option<Json> = match self.folder.store().get(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).ok(),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let of = json.and_then(|j| j.get("schemaId").and_then(Json::as_i64));
        Ok((of == Some(schema.id)).then(|| name.clone()))
    }
}

/// `commit.*` options. By default there are more retries than Java's 10, and none waits longer than a second: writers that come
/// in crowds shall all get through.
fn retry_policy(options: Options<'_>) -> Result<RetryPolicy> {
    let millis = |key, default| Ok::<u64, Error>(options.duration_ms(key)?.map_or(default, |ms| ms.max(0) as u64));
    Ok(RetryPolicy {
        retries: options.integer(MAX_RETRIES)?.unwrap_or(100).clamp(0, 10_000) as u32,
        min_wait_ms: millis("commit.min-retry-wait", 10)?,
        max_wait_ms: millis("commit.max-retry-wait", 1_000)?,
        total_ms: millis("commit.timeout", 1_800_000)?,
        option: MAX_RETRIES,
    })
}

fn rows(entries: &[FileEntry]) -> i64 {
    entries.iter().map(|e| if e.kind == DELETE { -e.row_count } else { e.row_count }).sum()
}

impl CommitAttempt for Commit {
    type Base = Base;
    type Next = Next;
    type Done = Snapshot;

    fn newest(&mut self) -> Result<Base> {
        let latest = self.folder.latest_snapshot()?;
        Ok(Base { latest, schema: self.folder.latest_schema()? })
    }

    fn newer(&mut self, base: &Base, error: &Error) -> Option<Base> {
        let newest = (error.kind() == ErrorKind::NotFound).then(|| self.newest().ok()).flatten()?;
        let id = |base: &Base| base.latest.as_ref().map(|s| s.id);
        (id(&newest) != id(base)).then_some(newest)
    }

    fn is_in(&mut self, base: &Base) -> Result<bool> {
        let Some(latest) = &base.latest else { return Ok(false) };
        self.found = self.replayed(latest)?;
        self.looked_until = Some(latest.id);
        self.is_replay = self.found.is_some();
        Ok(self.is_replay)
    }

    fn prepare(&mut self, base: &Base) -> Result<Next> {
        if std::mem::take(&mut self.checks_files) {
            self.check_files()?;
        }
        let (schema, latest) = (&base.schema, base.latest.as_ref());
        let index_base = match latest.and_then(|s| s.index_manifest.as_deref()) {
            Some(name) => read_index_manifest(self.folder.manifests(), name)?,
            None => Vec::new(),
        };
        let (mut delta, changelog, index) = self.entries(base, &index_base)?;
        self.check_base(base)?;
        let mut indexer = Indexer { folder: &self.folder, schema, files: &mut self.files };
        let index = indexer.add(&self.changes.hashes, &index_base, index)?;
        let id = latest.map_or(1, |s| s.id.saturating_add(1));
        let mut next_row_id = latest.and_then(|s| s.next_row_id).unwrap_or(0);
        if schema.options().row_tracking()? {
            next_row_id = track_rows(&mut delta, id, next_row_id)?;
        }
        let lists = self.write(base, &delta, &changelog, (index_base, &index))?;
        let added_rows = rows(&delta);
        let snapshot = Snapshot {
            version: CURRENT_VERSION,
            id,
            schema_id: schema.id,
            base_manifest_list: lists.base.0,
            base_manifest_list_size: Some(lists.base.1),
            delta_manifest_list: lists.delta.0,
            delta_manifest_list_size: Some(lists.delta.1),
            changelog_manifest_list_size: lists.changelog.as_ref().map(|l| l.1),
            changelog_manifest_list: lists.changelog.map(|l| l.0),
            index_manifest: lists.index,
            commit_user: self.user.clone(),
            commit_identifier: self.identifier,
            commit_kind: self.kind.as_str().to_owned(),
            // Times don't go back, whatever other machines' clocks said: time travel searches by them.
            time_ms: now_ms().max(latest.map_or(i64::MIN, |s| s.time_ms)),
            total_record_count: Some(latest.and_then(|s| s.total_record_count).unwrap_or(0).saturating_add(added_rows)),
            delta_record_count: Some(added_rows),
            changelog_record_count: (!changelog.is_empty()).then(|| rows(&changelog)),
            watermark: self.watermark.max(latest.and_then(|s| s.watermark)),
            statistics: latest.map(|s| self.statistics(s, schema)).transpose()?.flatten(),
            properties: self.properties.clone(),
            next_row_id: Some(next_row_id),
            raw: Map::new(),
        };
        Ok(Next { bytes: snapshot.encode(), snapshot })
    }

    fn publish(&mut self, base: &Base, next: &Next) -> Result<Snapshot> {
        let store = self.folder.store().as_ref();
        let path = self.folder.snapshot_path(next.snapshot.id);
        let mut lost = || {
            self.is_lost = true;
            Error::conflict(format!("another commit made snapshot {} first", next.snapshot.id)).with("path", &path)
        };
        // A snapshot that has expired or was rolled back meanwhile may have left the next one's name free.
        if let Some(latest) = &base.latest
            && !self.folder.has_snapshot(latest.id)?
        {
            return Err(lost());
        }
        match store.put_if_absent(&path, &next.bytes) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(lost()),
            put => put?,
        }
        // Hints: the snapshot is there without them.
        let _ = self.folder.hint_latest(next.snapshot.id);
        // Java's writers of local files look whether the name is free and then rename over it: one that looked before may have
        // done so just now. The later this looks, the fewer of them come after it.
        if !store.is_remote() && store.get(&path)? != next.bytes {
            return Err(lost());
        }
        Ok(next.snapshot.clone())
    }

    fn went_through(&mut self, newest: &Base, _: &Base, next: &Next) -> Result<bool> {
        let id = next.snapshot.id;
        if std::mem::take(&mut self.is_lost) || newest.latest.as_ref().is_none_or(|s| s.id < id) {
            return Ok(false);
        }
        let went = self.folder.store().get(&self.folder.snapshot_path(id))? == next.bytes;
        self.found = went.then(|| next.snapshot.clone());
        Ok(went)
    }

    fn done(&mut self, _: Base) -> Result<Snapshot> {
        self.found.take().ok_or_else(|| Error::internal("a commit is in no snapshot"))
    }

    fn is_certain(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::CommitConflict
    }

    fn is_refused(&self, error: &Error) -> bool {
        self.folder.store().refused(error)
    }
}

/// What a list says of a manifest of these entries.
#[cfg(test)]
pub(crate) fn manifest_of(
    entries: &[FileEntry],
    schema: &TableSchema,
) -> Result<crate::paimon::manifest::list::ManifestFile> {
    crate::paimon::commit::manifests::manifest_of(entries, &Layout::of(schema)?)
}

#[cfg(test)]
#[path = "producer_tests.rs"]
mod tests;
