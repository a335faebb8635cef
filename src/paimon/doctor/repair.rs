//! Repairs of an open table. Each is a commit that can be rolled back, except that of hints, which are no part of a
//! version.
//!
//! A repair is planned on the newest version. If another commit comes first, it is planned again.
//!
//! Source for lost files: Java's `ListUnexistingFiles`.

use std::collections::HashSet;

use super::codes;
use super::data_files::FileChecks;
use super::folder::{read_hints, wrong_hints};
use super::live::{LiveFile, Naming};
use super::manifests::{counts, differences};
use crate::error::{Error, ErrorKind, Result};
use crate::format::commit_loop::CommitOutcome;
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions, Findings};
use crate::format::diagnosis::repair::{REPAIRS, RepairKind, RepairOptions, RepairStep};
use crate::format::diagnosis::table_codes as shared;
use crate::format::request::ScanRequest;
use crate::format::task::DataFile;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::mending::{ManifestMends, live_rows, read_whatever_is_recorded};
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::manifest::entries::{ADD, PaimonEntryRequest};
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, IndexEntry, read_index_manifest};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::rows::unpublished::Unpublished;
use crate::paimon::rows::vectors;
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;
use crate::store::in_parallel;

impl PaimonTable {
    /// Repairs the newest version. Returns the table at its new version, and what was done or would be done.
    ///
    /// # Errors
    /// `Unsupported` if a lost manifest removes files; `CorruptTable` if manifests must be repaired before;
    /// `CommitConflict` if others change the same files again and again; those of the commit and of the store.
    pub fn repair(&self, options: &RepairOptions) -> Result<(PaimonTable, Vec<RepairStep>)> {
        self.metadata().check_same_table()?;
        let mut steps = Vec::new();
        if options.kinds.contains(&RepairKind::Refs) {
            steps = mend_hints(self.folder(), options.dry_run)?;
        }
        let mut table = match self.refresh() {
            // The wrong hint stays in the way.
            Err(_) if options.dry_run && !steps.is_empty() => return Ok((self.clone(), steps)),
            newest => newest?,
        };
        let commits = |kind: &RepairKind| *kind != RepairKind::Refs && options.kinds.contains(kind);
        for kind in REPAIRS.into_iter().map(|(kind, _)| kind).filter(commits) {
            let (next, mut done) = Repair { kind, options }.run(&table)?;
            table = next;
            steps.append(&mut done);
        }
        Ok((table, steps))
    }
}

/// Corrects wrong hints. Consumers stay as they are: only their owners know where they go on.
fn mend_hints(folder: &TableFolder, dry_run: bool) -> Result<Vec<RepairStep>> {
    // A commit creates its snapshot before it writes the hint. So the hint is read first.
    let hints = read_hints(folder);
    check_cancelled()?;
    let mut steps = Vec::new();
    for (code, hint, right) in wrong_hints(hints, &folder.snapshot_ids()?) {
        let action = format!("writes {right} instead of '{}'", hint.text);
        steps.push(RepairStep { kind: RepairKind::Refs, object: hint.path, action, rows_lost: 0 });
        if dry_run {
            continue;
        }
        match code == &codes::HINT_LATEST {
            true => folder.hint_latest(right)?,
            false => folder.hint_earliest(right)?,
        }
    }
    Ok(steps)
}

/// A repair of one kind, which is a commit.
#[derive(Clone, Copy)]
struct Repair<'a> {
    kind: RepairKind,
    options: &'a RepairOptions,
}

/// What a repair found on one version.
#[derive(Default)]
struct RepairPlan {
    steps: Vec<RepairStep>,
    mends: ManifestMends,
    /// Data files that leave the table.
    removed: Vec<DataFile>,
    /// Deletion vectors that leave the index: partition row, bucket, name of the data file.
    vectors: Vec<(Vec<u8>, i32, String)>,
}

/// How a manifest differs from its record in the list.
enum Judgement {
    Whole,
    /// Its record is wrong. With the right record, and the number of entries that are cut off.
    Wrong(Box<PaimonManifestFile>, i64),
    /// It can't be read.
    Lost,
}

impl Repair<'_> {
    fn run(self, table: &PaimonTable) -> Result<(PaimonTable, Vec<RepairStep>)> {
        if self.options.dry_run {
            return Ok((table.clone(), self.plan(table)?.steps));
        }
        let mut steps = Vec::new();
        let mut plan = || -> Result<Option<Commit>> {
            let newest = table.refresh()?;
            let found = self.plan(&newest)?;
            steps.clone_from(&found.steps);
            match found.steps.is_empty() {
                true => Ok(None),
                false => self.commit(&newest, found).map(Some),
            }
        };
        match run_planned(&mut plan) {
            CommitOutcome::Committed(None) => Ok((table.refresh()?, Vec::new())),
            outcome => {
                outcome.into_result()?;
                Ok((table.after_commit()?, steps))
            }
        }
    }

    fn plan(self, table: &PaimonTable) -> Result<RepairPlan> {
        let Some(snapshot) = table.metadata().snapshot.as_deref() else { return Ok(RepairPlan::default()) };
        match self.kind {
            RepairKind::Refs => Ok(RepairPlan::default()),
            RepairKind::Manifests => self.manifests(table, snapshot),
            RepairKind::LostFiles => self.lost_files(table, snapshot),
            RepairKind::DanglingDeletes => self.dangling(table, snapshot),
            RepairKind::Summaries => self.summaries(table, snapshot),
        }
    }

    fn step(self, object: &str, action: String, rows_lost: i64) -> RepairStep {
        let rows_lost = u64::try_from(rows_lost).unwrap_or(0);
        RepairStep { kind: self.kind, object: object.to_owned(), action, rows_lost }
    }

    /// The commit of a plan on the version that it was made for. New index files are written here.
    fn commit(self, newest: &PaimonTable, plan: RepairPlan) -> Result<Commit> {
        let snapshot = newest.metadata().snapshot.as_deref();
        let commit = match self.kind {
            RepairKind::LostFiles | RepairKind::DanglingDeletes => {
                let (index, index_files) = new_index(newest, snapshot, &plan.vectors)?;
                let changes = Changes { removed: plan.removed, index, index_files, ..Changes::default() };
                let commit = Commit::new(newest.folder(), changes);
                // Without a data file, the table has the same rows as before.
                let commit = if self.kind == RepairKind::LostFiles { commit } else { commit.compacting() };
                commit.owning_files()
            }
            _ => Commit::mending(newest.folder(), plan.mends),
        };
        let commit = commit.with_properties(self.options.snapshot_properties.clone());
        Ok(commit.only_on(snapshot.map(|s| s.id)))
    }

    /// Finds manifests that differ from their records, or can't be read.
    fn manifests(self, table: &PaimonTable, snapshot: &PaimonSnapshot) -> Result<RepairPlan> {
        let mut out = RepairPlan::default();
        for (m, judgement) in judged(table.folder().manifests(), snapshot)? {
            let action = match judgement {
                Judgement::Whole => continue,
                Judgement::Lost => {
                    check_removes_nothing(table, &m, m.deleted_files)?;
                    out.mends.lost.insert(m.file_name.clone());
                    format!(
                        "takes it out of the snapshot. Lost files: {}. The number of their rows is unknown",
                        m.added_files
                    )
                }
                Judgement::Wrong(right, lost) => {
                    if right.file_size != m.file_size {
                        check_removes_nothing(table, &m, m.deleted_files.saturating_sub(right.deleted_files))?;
                    }
                    out.mends.wrong.insert(m.file_name.clone());
                    match lost > 0 {
                        false => "writes it again from its entries".to_owned(),
                        true => {
                            out.mends.loses_entries = true;
                            format!("writes it again from the entries that are left. Lost entries: {lost}")
                        }
                    }
                }
            };
            out.steps.push(self.step(&m.file_name, action, 0));
        }
        Ok(out)
    }

    /// The manifests of a snapshot, if their counts are right: otherwise some files of the table are not seen. A dry
    /// run that also repairs manifests sees them as they will be.
    fn readable(self, from: ManifestFolder<'_>, snapshot: &PaimonSnapshot) -> Result<Vec<PaimonManifestFile>> {
        let as_mended = self.options.dry_run && self.options.kinds.contains(&RepairKind::Manifests);
        let counts_of = |m: &PaimonManifestFile| (m.added_files, m.deleted_files);
        let mut out = Vec::new();
        for (m, judgement) in judged(from, snapshot)? {
            match judgement {
                Judgement::Whole => out.push(m),
                Judgement::Wrong(right, _) if as_mended || counts_of(&right) == counts_of(&m) => out.push(*right),
                Judgement::Lost if as_mended => {}
                Judgement::Wrong(..) | Judgement::Lost => {
                    let what = "a manifest is lost or differs from its record, so the files of the table are unknown";
                    return Err(Error::corrupt(what)
                        .with("manifest", m.file_name)
                        .hint("Repair the manifests first: repair('manifests')"));
                }
            }
        }
        Ok(out)
    }

    /// Finds data files that are missing, cut off or damaged. Their deletion vectors leave the table with them.
    fn lost_files(self, table: &PaimonTable, snapshot: &PaimonSnapshot) -> Result<RepairPlan> {
        let options = DoctorOptions { deep: false, footers: u64::MAX, outside: false, most: usize::MAX };
        let (live, findings) = self.live(table, snapshot, Some(&options))?;
        let codes = [&shared::FILE_MISSING, &shared::FILE_TRUNCATED, &shared::FILE_DAMAGED];
        let broken = findings.findings.iter().filter(|f| codes.contains(&f.code)).map(|f| f.object.as_str());
        let broken: HashSet<&str> = broken.collect();
        let (lost, whole): (Vec<LiveFile>, Vec<LiveFile>) =
            live.into_iter().partition(|f| broken.contains(f.file.path.as_str()));
        if lost.is_empty() {
            return Ok(RepairPlan::default());
        }
        let schema = table.table_schema();
        let in_parts = schema.options().data_evolution()?;
        let step = |f: &LiveFile| match in_parts && whole.iter().any(|other| has_rows_of(other, f)) {
            true => self.step(
                &f.file.path,
                "takes it out of the table: its columns get the values of older files, or become null".to_owned(),
                0,
            ),
            false => {
                let removals = f.file.bucket_file.as_ref().and_then(|b| b.delete_row_count).unwrap_or(0);
                let older = if schema.has_primary_key() { ": older rows of its keys come back" } else { "" };
                let action = format!("takes it out of the table{older}");
                self.step(&f.file.path, action, f.file.record_count.saturating_sub(removals))
            }
        };
        let names: HashSet<&str> = lost.iter().map(|f| f.name.as_str()).collect();
        let index = index_entries(table, snapshot)?;
        Ok(RepairPlan {
            steps: lost.iter().map(step).collect(),
            vectors: vectors_of(&index, |name| names.contains(name)).map(|(_, vector)| vector).collect(),
            removed: lost.into_iter().map(|f| f.file).collect(),
            mends: ManifestMends::default(),
        })
    }

    /// Finds deletion vectors of files that the snapshot does not have.
    fn dangling(self, table: &PaimonTable, snapshot: &PaimonSnapshot) -> Result<RepairPlan> {
        let index = index_entries(table, snapshot)?;
        if !index.iter().any(IndexEntry::hides_rows) {
            return Ok(RepairPlan::default());
        }
        let (live, _) = self.live(table, snapshot, None)?;
        let names: HashSet<&str> = live.iter().map(|f| f.name.as_str()).collect();
        let mut out = RepairPlan::default();
        for (entry, vector) in vectors_of(&index, |name| !names.contains(name)) {
            let action = format!("removes the deletion vector of {}, which the table does not have", vector.2);
            out.steps.push(self.step(&entry.file_name, action, 0));
            out.vectors.push(vector);
        }
        Ok(out)
    }

    /// Compares the recorded number of rows with the files.
    fn summaries(self, table: &PaimonTable, snapshot: &PaimonSnapshot) -> Result<RepairPlan> {
        let from = table.folder().manifests();
        // The commit that mends manifests counts the rows, too.
        if self.options.dry_run && self.options.kinds.contains(&RepairKind::Manifests) {
            let is_whole = |(_, judgement): &(PaimonManifestFile, Judgement)| matches!(judgement, Judgement::Whole);
            if !judged(from, snapshot)?.iter().all(is_whole) {
                return Ok(RepairPlan::default());
            }
        }
        let rows = live_rows(from, &self.readable(from, snapshot)?)?;
        let wrong = snapshot.total_record_count.filter(|recorded| *recorded != rows);
        let step = |recorded: i64| {
            let action = format!("sets totalRecordCount to {rows} instead of {recorded}");
            self.step(&format!("snapshot {}", snapshot.id), action, 0)
        };
        Ok(RepairPlan { steps: wrong.map(step).into_iter().collect(), ..RepairPlan::default() })
    }

    /// The files of a snapshot, and with `options` what is wrong with them.
    fn live(
        self,
        table: &PaimonTable,
        snapshot: &PaimonSnapshot,
        options: Option<&DoctorOptions>,
    ) -> Result<(Vec<LiveFile>, Diagnosis)> {
        let (from, schema) = (table.folder().manifests(), table.metadata().schema()?);
        let paths = TablePaths::new(table.folder().root(), schema)?;
        let findings = Findings::new(usize::MAX);
        let schemas = &table.metadata().schemas;
        let naming = Naming { from, paths: &paths, schema, schemas, findings: &findings };
        let live = naming.live(&self.readable(from, snapshot)?, &format!("snapshot {}", snapshot.id))?;
        if let (Some(live), Some(options)) = (&live, options) {
            // Without it, files are only measured.
            let context = table.scan_newest(ScanRequest::default()).ok().map(|scan| scan.context().clone());
            let store = table.folder().store();
            let checks = FileChecks { store, findings: &findings, options, context, broken: None };
            checks.check(live, &mut HashSet::new())?;
        }
        let found = findings.finish();
        // What is left of the files must not be taken for all of them.
        let unknown = [&codes::MANIFEST_DAMAGED, &codes::ENTRY_IMPOSSIBLE, &codes::SCHEMA_MISSING];
        let unread = found.findings.iter().find(|f| unknown.contains(&f.code));
        match (live, unread) {
            (Some(live), None) => Ok((live, found)),
            (_, unread) => Err(Error::corrupt("the files of the snapshot can't be listed")
                .with("table", table.location())
                .with("reason", unread.map_or("", |f| f.evidence.as_str()))
                .hint("doctor() says what is wrong with the entries of the manifests")),
        }
    }
}

/// Compares the manifests of a snapshot with their records.
///
/// # Errors
/// Those of the store.
fn judged(from: ManifestFolder<'_>, snapshot: &PaimonSnapshot) -> Result<Vec<(PaimonManifestFile, Judgement)>> {
    let manifests = data_manifests(from, snapshot)?;
    let judgements = in_parallel(from.store, manifests.len(), |i| match manifests.get(i) {
        Some(manifest) => judge(from, manifest),
        None => Ok(Judgement::Whole),
    })?;
    Ok(manifests.into_iter().zip(judgements).collect())
}

fn judge(from: ManifestFolder<'_>, m: &PaimonManifestFile) -> Result<Judgement> {
    let columns = match read_whatever_is_recorded(from, &m.file_name, &PaimonEntryRequest::default()) {
        Ok(columns) => columns,
        Err(e) if is_damage(&e) => return Ok(Judgement::Lost),
        Err(e) => return Err(e),
    };
    if differences(from, m, &columns).is_empty() {
        return Ok(Judgement::Whole);
    }
    let (added_files, deleted_files) = counts(&columns);
    let size = i64::try_from(from.store.size(&from.path(&m.file_name)?)?).unwrap_or(i64::MAX);
    let fewer = m.added_files.saturating_add(m.deleted_files).saturating_sub(columns.len() as i64);
    let lost = if size == m.file_size { 0 } else { fewer.max(0) };
    let right = PaimonManifestFile {
        file_size: size,
        added_files,
        deleted_files,
        buckets: None,
        levels: None,
        row_ids: None,
        ..m.clone()
    };
    Ok(Judgement::Wrong(Box::new(right), lost))
}

/// Whether an error proves that a file is lost. A store that refuses or stays silent proves nothing.
fn is_damage(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable)
}

/// Refuses to go on without entries that remove files: the files would come back.
fn check_removes_nothing(table: &PaimonTable, m: &PaimonManifestFile, removed: i64) -> Result<()> {
    if removed <= 0 {
        return Ok(());
    }
    let what = format!("a lost manifest removes {removed} files, which would come back without it");
    Err(Error::unsupported(what)
        .with("table", table.location())
        .with("manifest", &m.file_name)
        .hint("Restore the manifest, or go back to a snapshot without it: rollback()"))
}

/// The index files of a snapshot.
fn index_entries(table: &PaimonTable, snapshot: &PaimonSnapshot) -> Result<Vec<IndexEntry>> {
    match &snapshot.index_manifest {
        Some(name) => read_index_manifest(table.folder().manifests(), name),
        None => Ok(Vec::new()),
    }
}

/// The deletion vectors of the data files that are wanted by name, with their index files.
fn vectors_of(
    index: &[IndexEntry],
    wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&IndexEntry, (Vec<u8>, i32, String))> {
    let entries = index.iter().filter(|e| e.kind == ADD && e.index_type == DELETION_VECTORS);
    let vectors = entries.flat_map(|e| e.deletion_vectors.iter().flatten().map(move |range| (e, &range.data_file)));
    vectors.filter(move |(_, name)| wanted(name)).map(|(e, name)| (e, (e.partition.clone(), e.bucket, name.clone())))
}

/// Writes index files without some vectors. Returns the changes of the index, and the paths of the files.
fn new_index(
    table: &PaimonTable,
    snapshot: Option<&PaimonSnapshot>,
    gone: &[(Vec<u8>, i32, String)],
) -> Result<(Vec<IndexEntry>, Vec<String>)> {
    let Some(snapshot) = snapshot.filter(|_| !gone.is_empty()) else { return Ok(Default::default()) };
    let mut new = Unpublished::new(table.folder().store().as_ref());
    let entries = vectors::taken_out(table, &index_entries(table, snapshot)?, gone, &mut new.index)?;
    Ok((entries, new.taken().1))
}

/// Whether a file has columns of the rows of another one.
fn has_rows_of(file: &LiveFile, other: &LiveFile) -> bool {
    let (Some(first), Some(wanted)) = (file.file.first_row_id, other.file.first_row_id) else { return false };
    !file.name.ends_with(".blob") && (first..first.saturating_add(file.file.record_count)).contains(&wanted)
}
