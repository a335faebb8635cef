//! Repairs of an open table. Each is a commit on `main`, which can be rolled back.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::codes;
use super::seen::ManifestTotals;
use super::summaries::totals_of;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions};
use crate::format::diagnosis::repair::{REPAIRS, RepairKind, RepairOptions, RepairStep};
use crate::format::diagnosis::table_codes as shared;
use crate::format::maintenance::DeleteOptions;
use crate::format::task::{DataFile, FileContent};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::rewrite::ManifestRewrite;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing;
use crate::iceberg::maintain::live_deletes::LiveFiles;
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::manifest::walk::{EntryBatch, MetadataWalk};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::store::Location;

impl IcebergTable {
    /// Repairs the newest version. Returns the table at its new version, and what was done or would be done.
    ///
    /// # Errors
    /// `InvalidInput` for a table that can't be written; `CommitConflict`; `CommitStateUnknown`; errors of the store.
    pub fn repair(&self, options: &RepairOptions) -> Result<(IcebergTable, Vec<RepairStep>)> {
        self.writable_location()?;
        let (mut table, mut steps) = (self.refresh()?, Vec::new());
        let mut diagnosis = OnceCell::new();
        for (kind, _) in REPAIRS.iter().filter(|(kind, _)| options.kinds.contains(kind)) {
            let repair = Repair { table: &table, options, diagnosis: &diagnosis };
            let (next, mut done) = match kind {
                RepairKind::Refs => repair.refs()?,
                RepairKind::Manifests => repair.manifests()?,
                RepairKind::LostFiles => repair.lost_files()?,
                RepairKind::DanglingDeletes => repair.dangling()?,
                RepairKind::Summaries => repair.summaries()?,
            };
            if !done.is_empty() && !options.dry_run {
                table = next;
                diagnosis = OnceCell::new();
            }
            steps.append(&mut done);
        }
        Ok((table, steps))
    }
}

/// A repair of one version.
struct Repair<'a> {
    table: &'a IcebergTable,
    options: &'a RepairOptions,
    /// What an examination of this version found, for all kinds.
    diagnosis: &'a OnceCell<Diagnosis>,
}

type Repaired = (IcebergTable, Vec<RepairStep>);

impl Repair<'_> {
    fn metadata(&self) -> &TableMetadata {
        &self.table.inner.metadata
    }

    /// The findings about this version. Footers are read only if lost files are looked for.
    fn diagnosis(&self) -> Result<&Diagnosis> {
        if let Some(known) = self.diagnosis.get() {
            return Ok(known);
        }
        let footers = if self.options.kinds.contains(&RepairKind::LostFiles) { u64::MAX } else { 0 };
        let options = DoctorOptions { deep: false, footers, outside: false, most: usize::MAX };
        let found = self.table.diagnose(&options)?;
        Ok(self.diagnosis.get_or_init(|| found))
    }

    fn nothing(&self) -> Repaired {
        (self.table.clone(), Vec::new())
    }

    /// Commits a change, unless it is a dry run.
    fn commit(&self, change: Box<dyn TableChange>, steps: Vec<RepairStep>) -> Result<Repaired> {
        if self.options.dry_run || steps.is_empty() {
            return Ok((self.table.clone(), steps));
        }
        Ok((committing::commit(self.table, vec![change]).into_result()?, steps))
    }

    fn snapshot(&self, change: SnapshotProducer) -> SnapshotProducer {
        change.with_summary(self.options.snapshot_properties.clone())
    }

    /// Removes log entries and statistics that lead nowhere.
    fn refs(&self) -> Result<Repaired> {
        let missing = objects(self.diagnosis()?, &[&codes::METADATA_LOG_MISSING, &codes::STATISTICS_MISSING]);
        let change = MendRefs { missing };
        let steps = change.steps(self.metadata());
        self.commit(Box::new(change), steps)
    }

    fn manifest_files(&self) -> Result<Vec<ManifestFile>> {
        let Some(snapshot) = self.metadata().current_snapshot() else { return Ok(Vec::new()) };
        load_manifests(self.table.inner.store.as_ref(), &Location::recorded(), snapshot).with("snapshot", snapshot.id)
    }

    fn walk(&self) -> MetadataWalk<'_> {
        let inner = &self.table.inner;
        MetadataWalk { store: inner.store.as_ref(), location: &inner.location, metadata: &inner.metadata }
    }

    fn repairs_manifests(&self) -> bool {
        self.options.kinds.contains(&RepairKind::Manifests)
    }

    /// The manifests that can't be read.
    fn lost_manifests(&self) -> Result<HashSet<String>> {
        Ok(objects(self.diagnosis()?, &[&codes::MANIFEST_MISSING, &codes::MANIFEST_DAMAGED]))
    }

    /// The manifests that lack entries.
    fn cut_manifests(&self) -> Result<HashSet<String>> {
        Ok(objects(self.diagnosis()?, &[&codes::MANIFEST_TRUNCATED, &codes::MANIFEST_ENTRIES_LOST]))
    }

    /// Reads the entries of manifests. A dry run that also repairs manifests sees them as they will be.
    fn entries<T: Send>(&self, read: impl Fn(EntryBatch<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
        let mut manifests = self.manifest_files()?;
        if self.options.dry_run && self.repairs_manifests() {
            let (lost, cut) = (self.lost_manifests()?, self.cut_manifests()?);
            manifests.retain(|m| !lost.contains(&m.path));
            manifests.iter_mut().filter(|m| cut.contains(&m.path)).for_each(of_any_length);
        }
        let found = self.walk().entries(&manifests, &EntryRequest::default(), read);
        found.map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::CorruptTable if !self.repairs_manifests() => {
                e.hint("Repair the manifests first: repair('manifests')")
            }
            _ => e,
        })
    }

    /// Writes the manifests of `main` again, if one of them is wrong.
    fn manifests(&self) -> Result<Repaired> {
        let (diagnosis, lost, cut) = (self.diagnosis()?, self.lost_manifests()?, self.cut_manifests()?);
        let wrong = objects(
            diagnosis,
            &[
                &codes::MANIFEST_LISTED_TWICE,
                &codes::MANIFEST_SPEC_DIFFERS,
                &codes::MANIFEST_LENGTH,
                &codes::MANIFEST_CONTENT,
                &codes::MANIFEST_COUNTS_HIDE,
                &codes::MANIFEST_COUNTS,
                &codes::MANIFEST_SUMMARY_HIDES,
                &codes::MANIFEST_MIN_SEQUENCE,
            ],
        );
        let mut steps = Vec::new();
        for m in self.manifest_files()? {
            let is_data = m.content == ManifestContent::Data;
            let (action, rows_lost) = if lost.contains(&m.path) {
                match is_data {
                    true => ("takes it and its files out of the table", recorded_rows(&m)),
                    false => ("takes it out of the table: rows that its files deleted come back", 0),
                }
            } else if cut.contains(&m.path) {
                match is_data {
                    true => ("writes it again from the entries that are left", self.lost_rows(&m)?),
                    false => ("writes it again from the entries that are left: other deleted rows come back", 0),
                }
            } else if wrong.contains(&m.path) {
                ("writes it again from its entries", 0)
            } else {
                continue;
            };
            steps.push(RepairStep { kind: RepairKind::Manifests, object: m.path, action: action.into(), rows_lost });
        }
        if steps.is_empty() {
            return Ok(self.nothing());
        }
        let change = SnapshotProducer::new(self.table.inner.store.clone(), Operation::Replace)
            .rewriting_manifests(ManifestRewrite::repairing(lost.into_iter().collect()));
        let (table, steps) = self.commit(Box::new(self.snapshot(change)), steps)?;
        if self.options.dry_run {
            return Ok((table, steps));
        }
        // Totals are copied from the snapshot before, which counted lost files.
        let (table, _) = Repair { table: &table, ..*self }.summaries()?;
        Ok((table, steps))
    }

    /// The rows that a manifest records but its entries lack.
    fn lost_rows(&self, m: &ManifestFile) -> Result<u64> {
        let mut left = m.clone();
        of_any_length(&mut left);
        let found = self.walk().entries(&[left], &EntryRequest::default(), |batch| {
            let rows = batch.columns.rows().filter_map(|row| batch.columns.record_count.get(row));
            Ok(rows.fold(0u64, |sum, n| sum.saturating_add(u64::try_from(*n).unwrap_or(0))))
        })?;
        Ok(recorded_rows(m).saturating_sub(found.into_iter().fold(0, u64::saturating_add)))
    }

    /// Takes files out that are missing, cut off or damaged.
    fn lost_files(&self) -> Result<Repaired> {
        let broken =
            [&shared::FILE_MISSING, &shared::FILE_TRUNCATED, &shared::FILE_DAMAGED, &codes::DELETE_FILE_MISSING];
        let broken = objects(self.diagnosis()?, &broken);
        let files = self.live(|path| broken.contains(path))?;
        let step = |f: &DataFile| {
            let is_data = f.content == FileContent::Data;
            let action =
                if is_data { "takes it out of the table" } else { "takes it out: rows that it deleted come back" };
            let rows_lost = if is_data { u64::try_from(f.record_count).unwrap_or(0) } else { 0 };
            RepairStep { kind: RepairKind::LostFiles, object: f.path.clone(), action: action.into(), rows_lost }
        };
        let steps: Vec<RepairStep> = files.iter().map(step).collect();
        let only_data = files.iter().all(|f| f.content == FileContent::Data);
        let operation = if only_data { Operation::Delete } else { Operation::Overwrite };
        let change = SnapshotProducer::new(self.table.inner.store.clone(), operation).remove_files(files);
        self.commit(Box::new(self.snapshot(change)), steps)
    }

    /// The live files of the current snapshot with these paths.
    fn live(&self, wanted: impl Fn(&str) -> bool + Sync) -> Result<Vec<DataFile>> {
        let found = self.entries(|batch| {
            let partitions: Vec<_> = batch.partitions.into_iter().map(Arc::new).collect();
            let is_wanted = |row: &usize| {
                batch.columns.path.get(*row).and_then(|path| std::str::from_utf8(path).ok()).is_some_and(&wanted)
            };
            let file = |row: usize| {
                let partition = batch.columns.partition.get(row).and_then(|at| partitions.get(*at as usize));
                let none = || crate::error::Error::internal("an entry has no partition");
                batch.columns.data_file(row, partition.ok_or_else(none)?.clone())
            };
            batch.columns.rows().filter(is_wanted).map(file).collect::<Result<Vec<_>>>()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Removes delete files that delete nothing.
    fn dangling(&self) -> Result<Repaired> {
        // Which deletes are left over is known once the manifests are repaired.
        let is_later = self.options.dry_run && self.repairs_manifests();
        if is_later && !(self.lost_manifests()?.is_empty() && self.cut_manifests()?.is_empty()) {
            return Ok(self.nothing());
        }
        let commit = CommitOptions { branch: None, snapshot_properties: self.options.snapshot_properties.clone() };
        let options = DeleteOptions { dry_run: self.options.dry_run, commit, ..DeleteOptions::default() };
        let Some(live) = LiveFiles::read(self.table, &options.commit)? else { return Ok(self.nothing()) };
        let dangling = live.deletes.iter().filter(|f| live.is_dangling(f));
        let step = |f: &DataFile| RepairStep {
            kind: RepairKind::DanglingDeletes,
            object: f.path.clone(),
            action: "removes the delete file".to_owned(),
            rows_lost: 0,
        };
        let steps: Vec<RepairStep> = dangling.map(step).collect();
        if steps.is_empty() || self.options.dry_run {
            return Ok((self.table.clone(), steps));
        }
        Ok((self.table.remove_dangling_deletes(&options)?.0, steps))
    }

    /// Commits a snapshot with the same manifests and the right totals.
    fn summaries(&self) -> Result<Repaired> {
        let Some(snapshot) = self.metadata().current_snapshot() else { return Ok(self.nothing()) };
        let totals = self.totals()?;
        let differs = |(key, found): &&(&str, i64)| {
            snapshot.summary.get(*key).is_some_and(|text| text.trim().parse() != Ok(*found))
        };
        let step = |(key, found): &(&'static str, i64)| RepairStep {
            kind: RepairKind::Summaries,
            object: format!("snapshot {}", snapshot.id),
            action: format!(
                "sets {key} to {found} instead of {}",
                snapshot.summary.get(*key).map_or("", |t| t.as_str())
            ),
            rows_lost: 0,
        };
        let steps: Vec<RepairStep> = totals.iter().filter(differs).map(step).collect();
        let totals: BTreeMap<String, String> =
            totals.iter().map(|(key, n)| ((*key).to_owned(), n.to_string())).collect();
        let change = SnapshotProducer::new(self.table.inner.store.clone(), Operation::Replace)
            .rewriting_manifests(ManifestRewrite::keeping_manifests(totals));
        self.commit(Box::new(self.snapshot(change)), steps)
    }

    /// The totals of the current snapshot, from its entries.
    fn totals(&self) -> Result<[(&'static str, i64); 6]> {
        let parts = self.entries(|batch| {
            let (c, mut totals) = (&batch.columns, ManifestTotals::default());
            c.rows().for_each(|row| totals.count(c, row));
            Ok(totals)
        })?;
        Ok(totals_of(parts.iter()))
    }
}

/// The rows of live files that a manifest list records for a manifest.
fn recorded_rows(m: &ManifestFile) -> u64 {
    let rows = m.added_rows_count.unwrap_or(0).saturating_add(m.existing_rows_count.unwrap_or(0));
    u64::try_from(rows).unwrap_or(0)
}

/// Takes a manifest as it is, also if it is shorter than recorded.
fn of_any_length(m: &mut ManifestFile) {
    m.length_bytes = 0;
}

/// The objects of findings with some codes.
fn objects(diagnosis: &Diagnosis, codes: &[&'static crate::format::diagnosis::code::Code]) -> HashSet<String> {
    let wanted = diagnosis.findings.iter().filter(|f| codes.contains(&f.code));
    wanted.map(|f| f.object.clone()).collect()
}

/// Removes entries of logs and statistics that lead nowhere.
struct MendRefs {
    /// Files of the metadata log and statistics files that do not exist.
    missing: HashSet<String>,
}

impl MendRefs {
    fn mended(&self, base: &TableMetadata) -> TableMetadata {
        let mut next = base.clone();
        let known: HashSet<i64> = base.snapshots.iter().map(|s| s.id).collect();
        next.snapshot_log.retain(|entry| known.contains(&entry.snapshot_id));
        next.snapshot_log.sort_by_key(|entry| entry.timestamp_ms);
        next.metadata_log.retain(|entry| !self.missing.contains(&entry.metadata_file));
        next.metadata_log.sort_by_key(|entry| entry.timestamp_ms);
        for files in [&mut next.statistics, &mut next.partition_statistics] {
            files.retain(|file| known.contains(&file.snapshot_id) && !self.missing.contains(&file.path));
        }
        next
    }

    fn steps(&self, base: &TableMetadata) -> Vec<RepairStep> {
        let next = self.mended(base);
        let step = |object: &str, action: String| RepairStep {
            kind: RepairKind::Refs,
            object: object.to_owned(),
            action,
            rows_lost: 0,
        };
        let mut steps = Vec::new();
        let counts = [
            ("snapshot-log", base.snapshot_log.len(), next.snapshot_log.len()),
            ("metadata-log", base.metadata_log.len(), next.metadata_log.len()),
            ("statistics", base.statistics.len(), next.statistics.len()),
            ("partition-statistics", base.partition_statistics.len(), next.partition_statistics.len()),
        ];
        for (name, before, after) in counts.into_iter().filter(|(_, before, after)| before != after) {
            steps.push(step(name, format!("removes {} entries that lead nowhere", before - after)));
        }
        if !base.snapshot_log.is_sorted_by_key(|e| e.timestamp_ms) {
            steps.push(step("snapshot-log", "sorts it by time".to_owned()));
        }
        if !base.metadata_log.is_sorted_by_key(|e| e.timestamp_ms) {
            steps.push(step("metadata-log", "sorts it by time".to_owned()));
        }
        steps
    }
}

impl TableChange for MendRefs {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        Ok(TableMetadata { last_updated_ms: now_ms.max(base.last_updated_ms), ..self.mended(base) })
    }

    fn only_evolves(&self) -> bool {
        true
    }

    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        self.steps(metadata).is_empty()
    }
}
