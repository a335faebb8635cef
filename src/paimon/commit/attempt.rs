//! Attempts of one commit: each reads the latest snapshot, prepares the next one and tries to publish it.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::changes::{CommitInput, CommitKind, NO_IDENTIFIER};
use super::conflicts::{Meeting, check_buckets, check_not_in_table};
use super::entries::{ChangeEntries, stay_hidden, track_rows, upgraded};
use super::hashes::Indexer;
use super::index::combined;
use super::manifests::{ManifestLayout, MetadataFiles};
use super::mending::live_rows;
use super::merge::ManifestMerger;
use super::renumber::NewRowIds;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit_loop::CommitAttempt;
use crate::paimon::manifest::entries::DELETE;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::{IndexEntry, read_index_manifest};
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::{CURRENT_VERSION, PaimonSnapshot};
use crate::parallel::{check_cancelled, with_patience};
use crate::store::in_parallel;
use crate::store::location::join;
use crate::types::json_text;
use crate::types::temporal::now_ms;

/// Hint for a written file that no longer exists.
const GONE: &str = "Its message was aborted, or it was committed and the file has since been compacted and expired. Check whether \
                    its rows are in the table before you write them again";

/// The table as an attempt finds it.
#[derive(Debug)]
pub(crate) struct AttemptBase {
    latest: Option<PaimonSnapshot>,
    pub(super) schema: Arc<TableSchema>,
}

/// A snapshot to be published.
#[derive(Debug)]
pub(crate) struct Next {
    snapshot: PaimonSnapshot,
    bytes: Vec<u8>,
}

/// The lists that a snapshot names, with their lengths, and its index manifest.
struct Lists {
    base: (String, i64),
    delta: (String, i64),
    changelog: Option<(String, i64)>,
    index: Option<String>,
    /// The rows of the snapshot, if they were counted again.
    rows: Option<i64>,
}

/// Plans a commit on the newest version; `None` if there is nothing to commit.
pub(super) type Plan<'p> = &'p mut dyn FnMut() -> Result<Option<CommitInput>>;

/// State of a commit that its attempts share.
pub(super) struct SnapshotAttempt<'p> {
    input: CommitInput,
    /// Makes a new plan after a conflict.
    plan: Option<Plan<'p>>,
    /// How many more plans may be made.
    plans_left: u32,
    /// Whether the last plan had nothing to commit.
    is_void: bool,
    files: MetadataFiles,
    /// The metadata files of the last attempt.
    used: HashSet<String>,
    /// Whether the commit still has to check that the added files exist.
    checks_files: bool,
    /// Whether the table had the commit before: nothing of this one is in use.
    is_replay: bool,
    /// The last snapshot that was searched for the commit.
    looked_until: Option<i64>,
    /// The snapshot that has the commit, if an attempt found it.
    found: Option<PaimonSnapshot>,
    /// Whether the last attempt certainly was not published.
    is_lost: bool,
    /// Whether the last attempt got as far as its publication.
    is_sent: bool,
}

impl<'p> SnapshotAttempt<'p> {
    pub(super) fn new(input: CommitInput) -> SnapshotAttempt<'p> {
        SnapshotAttempt {
            plan: None,
            plans_left: 0,
            is_void: false,
            files: MetadataFiles::new(input.folder.store().clone(), input.folder.root()),
            used: HashSet::new(),
            checks_files: input.checks_files,
            is_replay: false,
            looked_until: None,
            found: None,
            is_lost: false,
            is_sent: false,
            input,
        }
    }

    /// Makes the commit plan its changes again after conflicts, at most `plans` times.
    pub(super) fn planned_by(self, plan: Plan<'p>, plans: u32) -> SnapshotAttempt<'p> {
        SnapshotAttempt { plan: Some(plan), plans_left: plans, ..self }
    }

    /// Removes metadata files that the published snapshot does not use.
    pub(super) fn delete_unused(&mut self) {
        let none = HashSet::new();
        self.files.delete_all_but(if self.is_replay { &none } else { &self.used });
        if self.is_replay {
            self.input.folder.store().discard(self.input.changes.index_files.clone());
        }
    }

    /// Removes the files that were written for a commit that certainly failed.
    pub(super) fn clean_up(&mut self) {
        self.files.delete_all_but(&HashSet::new());
        // Index files are always written for this commit alone.
        let mut written = self.input.changes.index_files.clone();
        if !self.input.owns_files {
            return self.input.folder.store().discard(written);
        }
        for new in self.input.changes.added.iter().chain(&self.input.changes.changelog) {
            let folder = new.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            written.push(new.file.path.clone());
            written.extend(new.extra_files.iter().map(|name| join(folder, name)));
        }
        self.input.folder.store().discard(written);
    }

    /// The snapshot that shows that the table has the commit already. Its user numbers commits in ascending order. So
    /// in the first search, a later commit of the user shows it too.
    fn replayed(&self, latest: &PaimonSnapshot) -> Result<Option<PaimonSnapshot>> {
        if self.input.identifier == NO_IDENTIFIER {
            return Ok(None);
        }
        let since = self.looked_until.unwrap_or(0);
        for id in self.input.folder.snapshot_ids()?.into_iter().rev().filter(|id| *id > since && *id <= latest.id) {
            let snapshot = match self.input.folder.snapshot(id) {
                // It expired just now.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
                snapshot => snapshot?,
            };
            // Both are compared, because numbers are used again after a rollback.
            if self.input.after.is_some_and(|after| id <= after.sequence_number && snapshot.time_ms < after.time_ms) {
                return Ok(None);
            }
            let same_kind = snapshot.commit_kind == self.input.kind.as_str();
            match snapshot.commit_identifier.cmp(&self.input.identifier) {
                _ if snapshot.commit_user != self.input.user => {}
                Ordering::Less => return Ok(None),
                Ordering::Equal if same_kind => return Ok(Some(snapshot)),
                Ordering::Greater if self.looked_until.is_none() => return Ok(Some(snapshot)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether the snapshot is the one that the changes rely on, if they do on a single one.
    fn check_base(&self, base: &AttemptBase) -> Result<()> {
        let latest = base.latest.as_ref().map(|s| s.id);
        match self.input.only_on {
            Some(wanted) if wanted != latest => {
                Err(Error::conflict("another commit came first, and this one relies on the version before it")
                    .with("snapshot", latest.unwrap_or_default()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the added files exist.
    fn check_files(&self) -> Result<()> {
        let (store, added) = (self.input.folder.store(), &self.input.changes.added);
        let check = |i: usize| {
            let Some(new) = added.get(i) else { return Ok(()) };
            let path = &new.file.path;
            store.size(path).map(drop).map_err(|e| match e.kind() {
                ErrorKind::NotFound => Error::invalid("a written file no longer exists").with("path", path).hint(GONE),
                _ => e,
            })
        };
        in_parallel(store.as_ref(), added.len(), check).map(drop)
    }

    /// The checked entries for the commit's changes.
    fn entries(
        &self,
        base: &AttemptBase,
        index_base: &[IndexEntry],
    ) -> Result<(Vec<FileEntry>, Vec<FileEntry>, Vec<IndexEntry>)> {
        let mut entries = ChangeEntries::new(&base.schema, &self.input.changes, self.input.replaced.as_ref());
        let mut added = entries.added(&self.input.changes.added)?;
        added.extend(self.input.changes.adopted.iter().cloned());
        if self.input.replaced.is_some() {
            added = upgraded(&base.schema, added)?;
            check_buckets(&added)?;
            if self.input.shows_all && stay_hidden(&base.schema, &added)? {
                return Err(Error::conflict(
                    "rows of several writers overlap, so scans would not see them before a compaction",
                ));
            }
        }
        let changelog = entries.added(&self.input.changes.changelog)?;
        let index = entries.index(index_base, &added)?;
        let checks = self.input.checks_appends || self.input.kind != CommitKind::Append;
        let live = match &base.latest {
            // A commit that mends manifests or moves rows changes no files, and some manifests may be lost.
            Some(latest) if checks && self.input.mends.is_none() && self.input.renumbers.is_none() => {
                entries.base(self.input.folder.manifests(), latest, &added)?
            }
            _ => Vec::new(),
        };
        if self.input.checks_appends {
            check_not_in_table(&live, &added)?;
            if let Some(oldest) = self.oldest_after_gap(base)? {
                check_not_in_table(&entries.base(self.input.folder.manifests(), &oldest, &added)?, &added)?;
            }
        }
        let delta = entries.delta(&live, added)?;
        if checks {
            let (schema, kind) = (&*base.schema, self.input.kind);
            Meeting { schema, kind, base: &live, delta: &delta, index_base, index_delta: &index }.check()?;
        }
        Ok((delta, changelog, index))
    }

    /// The oldest snapshot, if other snapshots have expired that may have been this commit's. Files that they added
    /// and that it lacks were compacted before and are deleted.
    fn oldest_after_gap(&self, base: &AttemptBase) -> Result<Option<PaimonSnapshot>> {
        let Some(after) = self.input.after else { return Ok(None) };
        let latest = base.latest.as_ref().map_or(0, |latest| latest.id);
        match self.input.folder.snapshot_ids()?.into_iter().min() {
            Some(oldest) if oldest > after.sequence_number + 1 && oldest < latest => {
                self.input.folder.snapshot(oldest).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Writes the manifests of one attempt, and merges those of all commits before.
    fn write(
        &mut self,
        base: &AttemptBase,
        delta: &[FileEntry],
        changelog: &[FileEntry],
        (index_base, indexed): (Vec<IndexEntry>, &[IndexEntry]),
        new_ids: Option<&NewRowIds>,
    ) -> Result<Lists> {
        let (store, root) = (self.input.folder.store().clone(), self.input.folder.root().to_owned());
        let (schema, latest, files) = (&*base.schema, base.latest.as_ref(), &mut self.files);
        let layout = ManifestLayout::of(schema)?;
        let before = latest.map(|s| data_manifests(self.input.folder.manifests(), s)).transpose()?.unwrap_or_default();
        let joins_all = self.input.joins_manifests;
        let rewrite = layout.clone().dividing();
        let merge_layout = if joins_all { &rewrite } else { &layout };
        let merger = ManifestMerger { store: store.as_ref(), root: &root, schema, layout: merge_layout, joins_all };
        let from = self.input.folder.manifests();
        let (before, rows) = match (&self.input.mends, new_ids) {
            (Some(mends), _) => {
                let mended = mends.applied(files, from, before, &layout)?;
                let rows = live_rows(from, &mended)?;
                (mended, Some(rows))
            }
            (None, Some(ids)) => (ids.applied(files, from, before, &layout)?, None),
            (None, None) => (merger.merge(files, before)?, None),
        };
        let base_list = files.write_list(&before, &layout)?;
        let own = files.write_manifests(delta, &layout)?;
        let delta_list = files.write_list(&own, &layout)?;
        let changed = files.write_manifests(changelog, &layout)?;
        let changelog = if changed.is_empty() { None } else { Some(files.write_list(&changed, &layout)?) };
        let has_buckets = schema.has_primary_key() || schema.options().bucket()? > 0;
        let index = match new_ids.and_then(|ids| ids.indexes(&index_base)) {
            Some(entries) => Some(files.write_index(&entries, &layout)?),
            None if indexed.is_empty() => latest.and_then(|s| s.index_manifest.clone()),
            None => Some(files.write_index(&combined(index_base, indexed, has_buckets)?, &layout)?),
        };
        let manifests = before.iter().chain(&own).chain(&changed).map(|m| &m.file_name);
        let lists = [&base_list, &delta_list].into_iter().chain(&changelog).map(|(name, _)| name);
        let hashes = indexed.iter().map(|e| &e.file_name);
        self.used = manifests.chain(lists).chain(&index).chain(hashes).cloned().collect();
        Ok(Lists { base: base_list, delta: delta_list, changelog, index, rows })
    }

    /// The row id after those of the snapshot `id`. New rows get theirs, and other rows new ones if the commit asks for
    /// that.
    fn row_ids(&self, base: &AttemptBase, delta: &mut [FileEntry], id: i64) -> Result<(i64, Option<NewRowIds>)> {
        let (schema, latest) = (&base.schema, base.latest.as_ref());
        let next = latest.and_then(|s| s.next_row_id).unwrap_or(0);
        if !schema.options().row_tracking()? {
            return Ok((next, None));
        }
        let next = next.max(self.first_free_row_id(latest)?);
        let Some(renumbering) = &self.input.renumbers else { return Ok((track_rows(delta, id, next)?, None)) };
        let from = self.input.folder.manifests();
        let manifests = latest.map(|s| data_manifests(from, s)).transpose()?.unwrap_or_default();
        let ids = renumbering.plan(from, schema, &manifests, next)?;
        let ids = ids.ok_or_else(|| Error::conflict("another commit came first, and no row needs another id now"))?;
        Ok((ids.end(), Some(ids)))
    }

    /// The first row id after those that the manifests name. `nextRowId` of another writer may be too low.
    fn first_free_row_id(&self, latest: Option<&PaimonSnapshot>) -> Result<i64> {
        let Some(latest) = latest else { return Ok(0) };
        let manifests = data_manifests(self.input.folder.manifests(), latest)?;
        let last = manifests.iter().filter_map(|m| Some((m.row_ids?.1, m))).max_by_key(|(last, _)| *last);
        let overflow = |name: &str| Error::corrupt("row ids overflow").with("manifest", name);
        last.map_or(Ok(0), |(last, m)| last.checked_add(1).ok_or_else(|| overflow(&m.file_name)))
    }

    /// The commit's statistics file, or that of the latest snapshot as long as the schema is the same.
    fn statistics(&self, latest: &PaimonSnapshot, schema: &TableSchema) -> Result<Option<String>> {
        if self.input.statistics.is_some() {
            return Ok(self.input.statistics.clone());
        }
        let Some(name) = &latest.statistics else { return Ok(None) };
        let path = join(&join(self.input.folder.root(), "statistics"), checked_name(name)?);
        let bytes = self.input.folder.store().get(&path).if_found()?;
        let json: Option<Json> = bytes.and_then(|bytes| json_text::parse(&bytes).ok());
        let of = json.and_then(|j| j.get("schemaId").and_then(Json::as_i64));
        Ok((of == Some(schema.id)).then(|| name.clone()))
    }
}

/// The rows that entries add, less those that they remove. Counts are only informative, so they don't overflow.
fn rows(entries: &[FileEntry]) -> i64 {
    let signed = |e: &FileEntry| if e.kind == DELETE { e.row_count.saturating_neg() } else { e.row_count };
    entries.iter().map(signed).fold(0, i64::saturating_add)
}

/// The recorded number of rows of a snapshot.
fn total(latest: Option<&PaimonSnapshot>) -> i64 {
    latest.and_then(|s| s.total_record_count).unwrap_or(0)
}

/// The number of the snapshot after this one.
///
/// # Errors
/// `InvalidInput` if the largest number is used.
fn id_after(latest: Option<&PaimonSnapshot>) -> Result<i64> {
    latest.map_or(0, |s| s.id).checked_add(1).ok_or_else(|| Error::used_up("snapshot numbers"))
}

impl CommitAttempt for SnapshotAttempt<'_> {
    type Base = AttemptBase;
    type Next = Next;
    /// `None` if a later plan had nothing to commit.
    type Done = Option<PaimonSnapshot>;

    fn newest(&mut self) -> Result<AttemptBase> {
        let latest = self.input.folder.latest_snapshot()?;
        Ok(AttemptBase { latest, schema: self.input.folder.latest_schema()? })
    }

    fn newer(&mut self, base: &AttemptBase, error: &Error) -> Option<AttemptBase> {
        let newest = (error.kind() == ErrorKind::NotFound).then(|| self.newest().ok()).flatten()?;
        let id = |base: &AttemptBase| base.latest.as_ref().map(|s| s.id);
        (id(&newest) != id(base)).then_some(newest)
    }

    fn replan(&mut self, error: &Error) -> Result<Option<AttemptBase>> {
        if error.kind() != ErrorKind::CommitConflict || self.plans_left == 0 {
            return Ok(None);
        }
        let Some(plan) = self.plan.take() else { return Ok(None) };
        check_cancelled()?;
        self.clean_up();
        match plan()? {
            Some(input) => *self = SnapshotAttempt::new(input).planned_by(plan, self.plans_left - 1),
            None => self.is_void = true,
        }
        self.newest().map(Some)
    }

    fn is_applied(&mut self, base: &AttemptBase) -> Result<bool> {
        if self.is_void {
            return Ok(true);
        }
        let Some(latest) = &base.latest else { return Ok(false) };
        self.found = self.replayed(latest)?;
        self.looked_until = Some(latest.id);
        self.is_replay = self.found.is_some();
        Ok(self.is_replay)
    }

    fn prepare(&mut self, base: &AttemptBase) -> Result<Next> {
        if std::mem::take(&mut self.checks_files) {
            self.check_files()?;
        }
        let (schema, latest) = (&base.schema, base.latest.as_ref());
        let index_base = match latest.and_then(|s| s.index_manifest.as_deref()) {
            Some(name) => read_index_manifest(self.input.folder.manifests(), name)?,
            None => Vec::new(),
        };
        let (mut delta, changelog, index) = self.entries(base, &index_base)?;
        self.check_base(base)?;
        let mut indexer = Indexer { folder: &self.input.folder, schema, files: &mut self.files };
        let index = indexer.add(&self.input.changes.hashes, &index_base, index)?;
        let id = id_after(latest)?;
        let (next_row_id, new_ids) = self.row_ids(base, &mut delta, id)?;
        let lists = self.write(base, &delta, &changelog, (index_base, &index), new_ids.as_ref())?;
        let added_rows = rows(&delta);
        let snapshot = PaimonSnapshot {
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
            commit_user: self.input.user.clone(),
            commit_identifier: self.input.identifier,
            commit_kind: self.input.kind.as_str().to_owned(),
            // Times never decrease, even if clocks of other machines differ, because time travel searches by them.
            time_ms: now_ms().max(latest.map_or(i64::MIN, |s| s.time_ms)),
            total_record_count: Some(lists.rows.unwrap_or_else(|| total(latest).saturating_add(added_rows))),
            delta_record_count: Some(added_rows),
            changelog_record_count: (!changelog.is_empty()).then(|| rows(&changelog)),
            watermark: self.input.watermark.max(latest.and_then(|s| s.watermark)),
            statistics: latest.map(|s| self.statistics(s, schema)).transpose()?.flatten(),
            properties: self.input.properties.clone(),
            next_row_id: Some(next_row_id),
            raw: Map::new(),
        };
        Ok(Next { bytes: snapshot.encode(), snapshot })
    }

    fn publish(&mut self, base: &AttemptBase, next: &Next) -> Result<Option<PaimonSnapshot>> {
        self.is_sent = false;
        let store = self.input.folder.store().as_ref();
        let path = self.input.folder.snapshot_path(next.snapshot.id);
        let mut lost = || {
            self.is_lost = true;
            Error::conflict(format!("another commit made snapshot {} first", next.snapshot.id)).with("path", &path)
        };
        // A snapshot that has expired or was rolled back meanwhile may have left the next one's name free.
        if let Some(latest) = &base.latest
            && !self.input.folder.has_snapshot(latest.id)?
        {
            return Err(lost());
        }
        self.is_sent = true;
        match with_patience(|| store.put_if_absent(&path, &next.bytes)) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(lost()),
            put => put?,
        }
        // These are only hints: the snapshot exists without them.
        let _ = self.input.folder.hint_latest(next.snapshot.id);
        // Java's writers of local files look whether the name is free and then rename over it. A writer that looked
        // before may have renamed just now. The later this looks, the fewer such writers come after it.
        if !store.is_remote() && store.get(&path)? != next.bytes {
            return Err(lost());
        }
        Ok(Some(next.snapshot.clone()))
    }

    fn was_published(&mut self, newest: &AttemptBase, _: &AttemptBase, next: &Next) -> Result<bool> {
        let id = next.snapshot.id;
        if std::mem::take(&mut self.is_lost) || newest.latest.as_ref().is_none_or(|s| s.id < id) {
            return Ok(false);
        }
        let went = self.input.folder.store().get(&self.input.folder.snapshot_path(id))? == next.bytes;
        self.found = went.then(|| next.snapshot.clone());
        Ok(went)
    }

    fn done(&mut self, _: AttemptBase) -> Result<Option<PaimonSnapshot>> {
        match self.found.take() {
            None if !self.is_void => Err(Error::internal("no snapshot contains the commit")),
            found => Ok(found),
        }
    }

    fn is_certain(&self, error: &Error) -> bool {
        !self.is_sent || error.kind() == ErrorKind::CommitConflict
    }

    fn is_refused(&self, error: &Error) -> bool {
        self.input.folder.store().refused(error)
    }
}
