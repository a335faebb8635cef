//! Expiry: removes snapshots and changelogs, and the files that only they need.
//!
//! A data file is removed if a commit up to the first kept snapshot removed it from the table. It stays if a tag or
//! another branch has it. Files are removed first and snapshots last, so the next expiry completes one that was
//! stopped. The snapshots are listed before (`catalog/expiring.rs`). From then on they can't be tagged or restored.
//!
//! Where changelogs outlast their snapshots, an expired snapshot becomes a changelog: `changelog/changelog-N`, a copy
//! of its file. Files with its changes stay: its changelog files, or without a producer the files that writers added,
//! even if they were compacted meanwhile. A changelog is removed before its files. So a stopped expiry leaves only
//! orphans, and each remaining changelog has all of its files.
//!
//! Source: Java's `ExpireSnapshotsImpl`, `SnapshotDeletion`, `ExpireChangelogImpl` and `ChangelogDeletion`; stricter
//! than Java: other branches, tags and changelogs keep their files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result, ResultExt};
use crate::format::deletion::{NotDeleted, OutsideLocations, OwnFolders};
use crate::paimon::catalog::expiry_roots::{HeldPart, Root, half_expired, kept_changelogs, roots};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::reachable::{FileKind, MadeBy, MetadataParts, ReachableFiles, SnapshotReader, if_there};
use crate::paimon::catalog::tag_times::{duration_ms, overdue_tags, tag_file};
use crate::paimon::commit::retention::{ExpiryRequest, RetentionRules};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done, pause};
use crate::store::delete_all;
use crate::types::temporal::now_ms;

/// The result of an expiry: removed snapshots, changelogs, tags and files. Paths are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredFiles {
    /// Numbers of the snapshots.
    pub snapshots: Vec<i64>,
    /// Numbers of the changelogs that had outlasted their snapshots.
    pub changelogs: Vec<i64>,
    /// Overdue tags. Files that only they needed are removed too, and not listed here.
    pub tags: Vec<String>,
    /// Data and changelog files, and their extra files.
    pub data_files: Vec<String>,
    /// Index files.
    pub index_files: Vec<String>,
    /// Manifests and index manifests.
    pub manifests: Vec<String>,
    /// Manifest lists.
    pub manifest_lists: Vec<String>,
    /// Files of statistics.
    pub statistics_files: Vec<String>,
    /// The files that stay, because they are not below the table's folders.
    pub failed: Vec<NotDeleted>,
}

/// Expires snapshots of the folder's branch, and changelogs that outlasted theirs.
///
/// # Errors
/// As [`plan_expiry`]; those of the store. Even then, no needed file is removed.
pub fn expire(folder: &TableFolder, expiry: &ExpiryRequest) -> Result<ExpiredFiles> {
    let plan = ExpiryPlan::of(folder, expiry, true)?;
    let mut deleter = FileDeleter::new(folder, expiry.outside.clone());
    // If snapshots don't become changelogs, changelogs are removed before the files that they refer to.
    if plan.decoupled {
        plan.snapshots.run(&mut deleter, true)?;
        plan.changelogs.run_on_changelogs(&mut deleter, !plan.snapshots.going.is_empty())?;
    } else {
        plan.changelogs.run_on_changelogs(&mut deleter, false)?;
        plan.snapshots.run(&mut deleter, false)?;
    }
    if plan.begun {
        folder.end_expiry()?;
    }
    for tag in &plan.tags {
        check_cancelled()?;
        if_there(true, drop_tag(folder, tag))?;
    }
    Ok(ExpiredFiles { failed: deleter.failed, ..plan.listed() })
}

/// The result that an expiry of snapshots and changelogs of the folder's branch would have.
///
/// # Errors
/// `InvalidInput` for numbers that contradict each other; those of the store; `CorruptTable` if a kept snapshot can't
/// be read.
pub fn plan_expiry(folder: &TableFolder, expiry: &ExpiryRequest) -> Result<ExpiredFiles> {
    Ok(ExpiryPlan::of(folder, expiry, false)?.listed())
}

/// Snapshots or changelogs to remove, and the files to remove with them.
#[derive(Debug, Default)]
struct ExpiryStep {
    going: Vec<PaimonSnapshot>,
    files: ReachableFiles,
    /// The first that stays.
    first_kept: Option<i64>,
    /// Snapshots that can't become changelogs, because an interrupted expiry has removed their change files.
    without_changes: BTreeSet<i64>,
}

/// The table as an expiry finds it.
struct ExpiryView {
    /// The numbers of the snapshots.
    ids: Vec<i64>,
    /// The first snapshot on which no expiry has begun; 0 if no expiry has begun.
    lasting: i64,
    /// The least snapshot that a consumer still has to read.
    consumed: Option<i64>,
}

impl ExpiryView {
    fn of(folder: &TableFolder) -> Result<ExpiryView> {
        let lasting = folder.lasting_from()?;
        Ok(ExpiryView { ids: folder.snapshot_ids()?, lasting, consumed: consumed(folder)? })
    }
}

/// Paths to remove.
#[derive(Debug, Default)]
struct ExpiryPlan {
    tags: Vec<String>,
    snapshots: ExpiryStep,
    changelogs: ExpiryStep,
    /// Whether snapshots become changelogs.
    decoupled: bool,
    /// Whether the record of a running expiry exists, from this expiry or from one that was stopped.
    begun: bool,
}

impl ExpiryPlan {
    /// Makes the plan. With `begins`, it first records which snapshots last, and then reads the tags. So no tag is
    /// made for a removed snapshot meanwhile.
    fn of(folder: &TableFolder, expiry: &ExpiryRequest, begins: bool) -> Result<ExpiryPlan> {
        let _phase = begin_phase(Phase::ReadingMetadata, 0);
        let schema = folder.latest_schema()?;
        let retention = RetentionRules::of(schema.options(), expiry, now_ms())?;
        let tags = overdue_tags(folder, now_ms())?;
        let view = ExpiryView::of(folder)?;
        let (mut snapshots, kept) = going_snapshots(folder, &retention, &view)?;
        let planner = ExpiryPlanner { folder, reader: SnapshotReader::new(folder, &schema)?, schema, retention };
        if retention.decoupled {
            snapshots.without_changes = planner.without_changes(&snapshots, view.lasting)?;
        }
        let mut changelogs = going_changelogs(folder, &retention, &snapshots, &view)?;
        if let Some(kept) = kept.filter(|_| !(snapshots.going.is_empty() && changelogs.going.is_empty())) {
            let begins = begins && !snapshots.going.is_empty() && kept.id > view.lasting;
            if begins {
                folder.begin_expiry(&kept)?;
            }
            let found = planner.files(&mut snapshots, &mut changelogs, &kept);
            if found.is_err() && begins {
                // Restore it: nothing was deleted yet.
                let _ = match view.lasting {
                    0 => folder.end_expiry(),
                    lasting => folder.snapshot(lasting).and_then(|before| folder.begin_expiry(&before)),
                };
            }
            found?;
        }
        let begun = view.lasting > 0 || !snapshots.going.is_empty();
        Ok(ExpiryPlan { tags, snapshots, changelogs, decoupled: retention.decoupled, begun })
    }

    /// The snapshots, tags and files that expire.
    fn listed(self) -> ExpiredFiles {
        let numbers = |step: &ExpiryStep| step.going.iter().map(|s| s.id).collect();
        let mut out = ExpiredFiles {
            snapshots: numbers(&self.snapshots),
            changelogs: numbers(&self.changelogs),
            tags: self.tags,
            ..ExpiredFiles::default()
        };
        let mut files: Vec<_> =
            [&self.snapshots, &self.changelogs].iter().flat_map(|step| step.files.sorted()).collect();
        files.sort_unstable_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)));
        files.dedup_by(|a, b| a.2 == b.2);
        for (kind, _, path) in files {
            let list = match kind {
                FileKind::Data => &mut out.data_files,
                FileKind::Index => &mut out.index_files,
                FileKind::Manifest => &mut out.manifests,
                FileKind::List => &mut out.manifest_lists,
                FileKind::Statistics => &mut out.statistics_files,
            };
            list.push(path.clone());
        }
        out
    }
}

impl ExpiryStep {
    /// The snapshots that may become changelogs.
    fn with_changes(&self) -> impl DoubleEndedIterator<Item = &PaimonSnapshot> {
        self.going.iter().filter(|snapshot| !self.without_changes.contains(&snapshot.id))
    }

    /// Whether there is anything to remove or to keep.
    fn is_any(&self) -> bool {
        self.first_kept.is_some() || !self.going.is_empty()
    }

    /// Removes snapshots.
    fn run(&self, deleter: &mut FileDeleter<'_>, as_changelogs: bool) -> Result<()> {
        let (folder, files) = (deleter.folder, self.files.sorted());
        // Readers of manifests look for data files, so those are removed first.
        let (data, rest): (Vec<_>, Vec<_>) = files.into_iter().partition(|(kind, _, _)| *kind == FileKind::Data);
        for files in [data, rest] {
            deleter.delete(&files.into_iter().map(|(_, _, path)| path).collect::<Vec<_>>())?;
        }
        for snapshot in &self.going {
            if as_changelogs && !self.without_changes.contains(&snapshot.id) {
                folder.put_changelog(snapshot)?;
            }
            folder.store().delete(&folder.snapshot_path(snapshot.id))?;
        }
        if let Some(last) = self.with_changes().last().filter(|_| as_changelogs) {
            let _ = folder.hint_latest_changelog(last.id);
        }
        if let Some(first) = self.first_kept.filter(|_| !self.going.is_empty()) {
            let _ = folder.hint_earliest(first);
        }
        Ok(())
    }

    /// Removes changelogs one after the other. Each is removed before those of its files that no later one has.
    /// `came` says that new ones may exist.
    fn run_on_changelogs(&self, deleter: &mut FileDeleter<'_>, came: bool) -> Result<()> {
        let folder = deleter.folder;
        let mut files: BTreeMap<i64, Vec<&String>> = BTreeMap::new();
        for (_, of, path) in self.files.sorted() {
            files.entry(of).or_default().push(path);
        }
        for changelog in &self.going {
            check_cancelled()?;
            folder.store().delete(&folder.changelog_path(changelog.id))?;
            deleter.delete(files.get(&changelog.id).map(Vec::as_slice).unwrap_or_default())?;
        }
        let _ = match self.first_kept {
            _ if self.going.is_empty() && !came => Ok(()),
            Some(first) => folder.hint_earliest_changelog(first),
            None => folder.hint_latest_changelog(-1),
        };
        Ok(())
    }
}

/// Deletes the files that are below the table's folders, and remembers the others.
struct FileDeleter<'f> {
    folder: &'f TableFolder,
    outside: OutsideLocations,
    /// The table's folders, once they are needed. They are read again for files that are not below them.
    own: Option<OwnFolders<'f>>,
    failed: Vec<NotDeleted>,
}

impl<'f> FileDeleter<'f> {
    fn new(folder: &'f TableFolder, outside: OutsideLocations) -> FileDeleter<'f> {
        FileDeleter { folder, outside, own: None, failed: Vec::new() }
    }

    fn delete(&mut self, paths: &[&String]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let each = || paths.iter().map(|path| path.as_str());
        let is_known = self.own.as_ref().is_some_and(|own| each().all(|path| own.contain(path)));
        if !is_known {
            self.own = Some(self.folder.own_folders(each())?.and(self.outside.iter()));
        }
        let Some(own) = &self.own else { return Ok(()) };
        let (paths, others): (Vec<&str>, Vec<&str>) = each().partition(|path| own.contain(path));
        self.failed.extend(others.into_iter().map(NotDeleted::outside));
        let store = self.folder.store().as_ref();
        let _phase = begin_phase(Phase::Deleting, paths.len());
        delete_all(store, &paths)?;
        count_done(Unit::Files, paths.len() as u64);
        Ok(())
    }
}

/// The snapshots to remove, and the first that stays. An expiry that has begun is completed, with any options.
fn going_snapshots(
    folder: &TableFolder,
    retention: &RetentionRules,
    view: &ExpiryView,
) -> Result<(ExpiryStep, Option<PaimonSnapshot>)> {
    let Some(latest) = view.ids.last().copied() else { return Ok((ExpiryStep::default(), None)) };
    let cap = view.consumed.filter(|_| retention.consumers_hold_snapshots).unwrap_or(i64::MAX);
    let time_of = |id| Ok(folder.snapshot(id).if_found()?.map(|s| s.time_ms));
    let first_kept = retention.snapshots.first_kept(&view.ids, latest, cap, &time_of)?;
    let Some(end) = first_kept.map(|id| id.max(view.lasting)) else { return Ok((ExpiryStep::default(), None)) };
    let going = view.ids.iter().filter(|id| **id < end).filter_map(|id| folder.snapshot(*id).if_found().transpose());
    let step = ExpiryStep { going: going.collect::<Result<_>>()?, first_kept: Some(end), ..ExpiryStep::default() };
    Ok((step, Some(folder.snapshot(end)?)))
}

/// The changelogs to remove, among the existing ones and those that snapshots become.
fn going_changelogs(
    folder: &TableFolder,
    retention: &RetentionRules,
    snapshots: &ExpiryStep,
    view: &ExpiryView,
) -> Result<ExpiryStep> {
    let mut known: BTreeMap<i64, Option<PaimonSnapshot>> =
        folder.changelog_ids()?.into_iter().map(|id| (id, None)).collect();
    if retention.decoupled {
        known.extend(snapshots.with_changes().map(|s| (s.id, Some(s.clone()))));
    }
    let ids: Vec<i64> = known.keys().copied().collect();
    let (Some(latest), Some(last), Some(snapshot)) =
        (view.ids.last().copied(), ids.last().copied(), snapshots.first_kept)
    else {
        return Ok(ExpiryStep::default());
    };
    // Java keeps the latest one while more will follow. Files that later snapshots may need stay.
    let cap = if retention.decoupled { last.min(snapshot) } else { snapshot };
    let cap = cap.min(view.consumed.unwrap_or(i64::MAX));
    let load = |id: i64| match known.get(&id) {
        Some(Some(snapshot)) => Ok(Some(snapshot.clone())),
        _ => folder.changelog(id),
    };
    let first_kept = retention.changelogs.first_kept(&ids, latest, cap, &|id| Ok(load(id)?.map(|s| s.time_ms)))?;
    let end = first_kept.unwrap_or(cap);
    let going = ids.iter().filter(|id| **id < end).filter_map(|id| load(*id).transpose());
    Ok(ExpiryStep { going: going.collect::<Result<_>>()?, first_kept, ..ExpiryStep::default() })
}

/// Finds the files that are removed with snapshots and changelogs.
struct ExpiryPlanner<'a> {
    folder: &'a TableFolder,
    reader: SnapshotReader<'a>,
    schema: Arc<TableSchema>,
    retention: RetentionRules,
}

impl ExpiryPlanner<'_> {
    /// The snapshots that lost their change records to an expiry that was stopped, with any options at that time.
    fn without_changes(&self, step: &ExpiryStep, lasting: i64) -> Result<BTreeSet<i64>> {
        let by_delta = !self.schema.options().produces_changelog();
        let mut out = BTreeSet::new();
        for snapshot in step.going.iter().filter(|snapshot| snapshot.id < lasting) {
            if !self.reader.has_changes(snapshot, by_delta)? {
                out.insert(snapshot.id);
            }
        }
        Ok(out)
    }

    /// Finds the files that are removed with either.
    fn files(&self, snapshots: &mut ExpiryStep, changelogs: &mut ExpiryStep, kept: &PaimonSnapshot) -> Result<()> {
        let roots = roots(self.folder)?;
        snapshots.files = self.of_snapshots(snapshots, changelogs, kept, &roots)?;
        changelogs.files = self.of_changelogs(changelogs, kept, &roots)?;
        Ok(())
    }

    /// The files that only the removed snapshots had; `kept` is the first that stays.
    fn of_snapshots(
        &self,
        step: &ExpiryStep,
        changelogs: &ExpiryStep,
        kept: &PaimonSnapshot,
        roots: &[Root],
    ) -> Result<ReachableFiles> {
        let (reader, decoupled) = (&self.reader, self.retention.decoupled);
        let mut files = ReachableFiles::default();
        if step.going.is_empty() {
            return Ok(files);
        }
        // Without changelog, the files that writers added show the changes.
        let is_log = decoupled && !self.schema.options().produces_changelog();
        let made_by = if is_log { MadeBy::Compactions } else { MadeBy::Any };
        for snapshot in step.going.iter().skip(1).chain([kept]) {
            check_cancelled()?;
            files.add_data(reader.taken_out(snapshot, made_by)?, snapshot.id);
        }
        if let Some(first) = step.going.first().filter(|_| !decoupled && changelogs.is_any()) {
            // These files stayed while this snapshot was the first to stay.
            files.add_data(reader.taken_out(first, MadeBy::Writers)?, first.id);
        }
        let parts = MetadataParts { data: !is_log, changelog: !decoupled, state: true };
        for snapshot in &step.going {
            check_cancelled()?;
            if !decoupled {
                files.add_data(reader.changelog(snapshot)?, snapshot.id);
            }
            reader.metadata(snapshot, parts, true, &mut files)?;
        }
        files.spare_metadata(reader, kept, MetadataParts::ALL, false)?;
        // Changelogs from a time when they were kept longer, or when there was no producer.
        let is_needed = |root: &Root| !decoupled || root.held == HeldPart::Delta;
        let kept = if decoupled && is_log { Vec::new() } else { kept_changelogs(self.folder)? };
        let own: Vec<Root> = kept.into_iter().filter(is_needed).collect();
        // Changelogs are removed before the files of snapshots, unless some are still to be made.
        let goes = |id: i64| !decoupled && changelogs.going.iter().any(|going| going.id == id);
        let stays = |root: &&Root| !goes(root.snapshot.id);
        self.spare(&mut files, own.iter().filter(stays).chain(roots))?;
        Ok(files)
    }

    /// The files that only the removed changelogs had; `kept` is the first snapshot that stays.
    fn of_changelogs(&self, step: &ExpiryStep, kept: &PaimonSnapshot, roots: &[Root]) -> Result<ReachableFiles> {
        let reader = &self.reader;
        let mut files = ReachableFiles::default();
        for changelog in &step.going {
            check_cancelled()?;
            files.add_data(reader.changelog(changelog)?, changelog.id);
            // Files that compactions replaced were removed with the snapshot.
            files.add_data(reader.taken_out(changelog, MadeBy::Writers)?, changelog.id);
            reader.metadata(changelog, MetadataParts { state: false, ..MetadataParts::ALL }, true, &mut files)?;
        }
        if files.is_empty() {
            return Ok(files);
        }
        files.spare_metadata(reader, kept, MetadataParts::ALL, false)?;
        if let Some(first) = step.first_kept.map(|id| self.folder.commit_left(id)).transpose()? {
            files.spare_metadata(reader, &first, MetadataParts::ALL, true)?;
        }
        self.spare(&mut files, roots)?;
        Ok(files)
    }

    fn spare<'r>(&self, files: &mut ReachableFiles, roots: impl IntoIterator<Item = &'r Root>) -> Result<()> {
        for root in roots {
            check_cancelled()?;
            files.spare(&self.reader, root)?;
        }
        Ok(())
    }
}

/// Removes a tag. If its snapshot has expired, also removes the files that only this tag kept.
///
/// # Errors
/// `NotFound` if the tag does not exist; as [`expire`].
pub fn drop_tag(folder: &TableFolder, name: &str) -> Result<()> {
    let tag = folder.tag(name)?.snapshot;
    folder.store().delete(&folder.tag_path(name))?;
    release(folder, &tag)
}

/// Points a tag at another snapshot. If the old one has expired, also removes the files that only it had.
///
/// # Errors
/// As [`drop_tag`].
pub fn replace_tag(folder: &TableFolder, name: &str, snapshot: &PaimonSnapshot) -> Result<()> {
    let before = folder.tag(name)?;
    let retained_ms = before.time_retained.as_ref().and_then(duration_ms);
    let path = folder.tag_path(name);
    let old = folder.store().get(&path)?;
    folder.tag_lasting(
        snapshot,
        || folder.store().put(&path, &tag_file(snapshot, retained_ms, now_ms())),
        || {
            let _ = folder.store().put(&path, &old);
        },
    )?;
    release(folder, &before.snapshot)
}

/// Sets how long a tag is kept from now on, in milliseconds; forever if no time is given.
///
/// # Errors
/// As [`TableFolder::tag`].
pub fn retain_tag(folder: &TableFolder, name: &str, retained_ms: Option<i64>) -> Result<()> {
    let tag = folder.tag(name)?;
    folder.store().put(&folder.tag_path(name), &tag_file(&tag.snapshot, retained_ms, now_ms()))
}

/// Removes the files of an expired snapshot without a tag, if no other snapshot has them.
fn release(folder: &TableFolder, tag: &PaimonSnapshot) -> Result<()> {
    if folder.has_snapshot(tag.id)? {
        return Ok(());
    }
    let reader = SnapshotReader::new(folder, &folder.latest_schema()?)?;
    let mut own = ReachableFiles::default();
    reader.live(tag, &mut |path| own.add(path, FileKind::Data, tag.id))?;
    own.add_data(reader.changelog(tag)?, tag.id);
    reader.metadata(tag, MetadataParts::ALL, true, &mut own)?;
    // A file that is not in the snapshots directly before and after is in no other one. Half-expired snapshots don't
    // count, because only their changes are still read.
    let lasting = folder.lasting_from()?;
    let (going, last): (Vec<PaimonSnapshot>, Vec<PaimonSnapshot>) =
        folder.snapshots()?.into_iter().partition(|s| s.id < lasting);
    let place = last.partition_point(|s| s.id < tag.id);
    let neighbours = last.get(place.saturating_sub(1)..last.len().min(place + 1)).unwrap_or_default();
    let neighbours = neighbours.iter().cloned().map(Root::state).chain(half_expired(going));
    for root in roots(folder)?.into_iter().chain(kept_changelogs(folder)?).chain(neighbours) {
        check_cancelled()?;
        own.spare(&reader, &root)?;
    }
    let paths: Vec<&String> = own.sorted().into_iter().map(|(_, _, path)| path).collect();
    FileDeleter::new(folder, OutsideLocations::default()).delete(&paths)
}

/// The least snapshot that a consumer still has to read.
fn consumed(folder: &TableFolder) -> Result<Option<i64>> {
    Ok(consumers(folder)?.into_iter().map(|(_, next)| next).min())
}

/// Consumers of the branch by name, each with the snapshot that it reads next.
///
/// # Errors
/// Those of the store; `CorruptTable` if a consumer's file lacks it.
pub fn consumers(folder: &TableFolder) -> Result<Vec<(String, i64)>> {
    let mut out = Vec::new();
    for file in folder.store().list(&folder.folder("consumer"))? {
        let Some(name) = file.path.rsplit('/').next().and_then(|name| name.strip_prefix("consumer-")) else { continue };
        // One may be removed just now.
        out.extend(next_of_consumer(folder, &file.path)?.map(|next| (name.to_owned(), next)));
    }
    out.sort_unstable();
    Ok(out)
}

/// How often a consumer's file is read again that is missing or incomplete.
const REREADS: usize = 3;

/// How long to wait for a writer of such a file.
const WRITERS_PAUSE: Duration = Duration::from_millis(100);

/// The snapshot that a consumer reads next. `None` if it was removed. Writers may replace the file in two steps, so
/// that it is missing or incomplete for a moment.
fn next_of_consumer(folder: &TableFolder, path: &str) -> Result<Option<i64>> {
    let mut attempt = 0;
    loop {
        let bytes = folder.store().get(path).if_found()?;
        let json: Option<serde_json::Value> = bytes.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let next = json.and_then(|j| j.get("nextSnapshot").and_then(serde_json::Value::as_i64));
        match next {
            Some(next) => return Ok(Some(next)),
            None if attempt < REREADS => pause(WRITERS_PAUSE)?,
            None if bytes.is_none() => return Ok(None),
            None => {
                let error = Error::corrupt("a consumer's file does not contain the next snapshot");
                return Err(error.with("path", path));
            }
        }
        attempt += 1;
    }
}

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "changelog_tests.rs"]
mod changelog_tests;

#[cfg(test)]
#[path = "history_tests.rs"]
mod history_tests;

#[cfg(test)]
#[path = "interrupted_tests.rs"]
mod interrupted_tests;
