//! The course of an examination.

use std::collections::HashSet;
use std::sync::Arc;

use super::data_files::FileChecks;
use super::folder::{self, FolderFacts};
use super::health::Newest;
use super::live::{LiveFile, Naming, contradictions};
use super::manifests::ManifestChecks;
use super::{codes, health, indexes, levels};
use crate::error::{Error, Result};
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions, Findings, reason};
use crate::format::request::ScanRequest;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::commit::orphans;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::store::Store;
use crate::store::location::join;
use crate::types::temporal::now_ms;

impl PaimonTable {
    /// Examines the table. Damage becomes a finding.
    ///
    /// # Errors
    /// A cancellation; errors of listing the table's folders.
    pub fn diagnose(&self, options: &DoctorOptions) -> Result<Diagnosis> {
        let findings = Findings::new(options.most);
        examine(self.folder(), Some(self), options, &findings)?;
        Ok(findings.finish())
    }
}

/// Examines the folder of a table that could not be opened because of `error`; `None` if it is no table's folder.
///
/// # Errors
/// A cancellation; errors of listing the folders.
pub fn examine_place(
    store: &Arc<dyn Store>,
    root: &str,
    options: &DoctorOptions,
    error: &Error,
) -> Result<Option<Diagnosis>> {
    let is_table =
        store.list_folders(root).is_ok_and(|names| ["schema", "snapshot"].iter().all(|n| names.iter().any(|f| f == n)));
    if !is_table {
        return Ok(None);
    }
    let findings = Findings::new(options.most);
    match TableFolder::find(store.clone(), root) {
        Ok(Some(folder)) => examine(&folder, None, options, &findings)?,
        _ => findings.add(&codes::SCHEMA_MISSING, join(root, "schema"), reason(error)),
    }
    if !findings.has_errors() {
        findings.add(&codes::SNAPSHOT_DAMAGED, root, reason(error));
    }
    Ok(Some(findings.finish()))
}

fn examine(
    folder: &TableFolder,
    table: Option<&PaimonTable>,
    options: &DoctorOptions,
    findings: &Findings,
) -> Result<()> {
    let facts = folder::read(folder, findings)?;
    let Some(schema) = facts.schemas.values().next_back().cloned() else { return Ok(()) };
    let paths = match TablePaths::new(folder.root(), &schema) {
        Ok(paths) => paths,
        Err(e) => return folder::damaged(findings, &codes::SCHEMA_DAMAGED, &folder.schema_path(schema.id), &e),
    };
    let context = table.and_then(|table| table.scan(ScanRequest::default()).ok()).map(|scan| scan.context().clone());
    let naming = Naming { from: folder.manifests(), paths: &paths, schema: &schema, schemas: &facts.schemas, findings };
    let files = FileChecks { store: folder.store(), findings, options, context, broken: None };
    let mut run = Run { folder, naming, files, schema: &schema, options, checked: HashSet::new() };
    run.snapshots(&facts)?;
    if options.outside {
        run.outside()?;
    }
    Ok(())
}

/// An examination that runs.
struct Run<'a> {
    folder: &'a TableFolder,
    naming: Naming<'a>,
    files: FileChecks<'a>,
    schema: &'a Arc<TableSchema>,
    options: &'a DoctorOptions,
    /// Paths that were checked.
    checked: HashSet<String>,
}

impl Run<'_> {
    fn findings(&self) -> &Findings {
        self.naming.findings
    }

    /// Checks all snapshots. The files of the oldest and the newest are all looked at, and of the others those that
    /// they added.
    fn snapshots(&mut self, facts: &FolderFacts) -> Result<()> {
        let mut manifests = ManifestChecks::new(self.naming.from, self.naming.findings);
        let last = facts.snapshots.len().saturating_sub(1);
        for (number, snapshot) in facts.snapshots.iter().enumerate() {
            check_cancelled()?;
            let is_whole = number == 0 || number == last;
            // A snapshot between them has few files of its own.
            let total = if number == 1 { last.saturating_sub(1) } else { 0 };
            let _phase = (!is_whole).then(|| begin_phase(Phase::CheckingSnapshots, total));
            let of = manifests.of(snapshot, false)?;
            let at = format!("snapshot {}", snapshot.id);
            if let Some(list) = of.data.as_ref().filter(|_| is_whole) {
                self.whole(snapshot, list, &at, number == last, facts)?;
            } else if let Some(list) = &of.delta {
                let added = self.naming.added(list, &at)?;
                self.files.check(&added, &mut self.checked)?;
            }
            if let Some(list) = &of.changelog {
                self.changelog(list, &at)?;
            }
            self.statistics(snapshot)?;
            count_done(Unit::Snapshots, 1);
        }
        for (name, snapshot) in &facts.tagged {
            // The change log goes with the snapshot's own file; the tag keeps the rest.
            let kept = PaimonSnapshot { changelog_manifest_list: None, ..snapshot.clone() };
            let of = manifests.of(&kept, false)?;
            if let Some(list) = &of.data {
                self.whole(snapshot, list, &format!("tag {name}"), false, facts)?;
            }
        }
        for snapshot in &facts.changelogs {
            let of = manifests.of(snapshot, true)?;
            if let Some(list) = &of.changelog {
                self.changelog(list, &format!("changelog {}", snapshot.id))?;
            }
        }
        Ok(())
    }

    /// Checks all files of a snapshot.
    fn whole(
        &mut self,
        snapshot: &PaimonSnapshot,
        list: &[PaimonManifestFile],
        at: &str,
        is_newest: bool,
        facts: &FolderFacts,
    ) -> Result<()> {
        contradictions(self.naming.from, list, self.naming.findings)?;
        let live = self.naming.live(list, at)?;
        if let Some(files) = &live {
            self.files.check(files, &mut self.checked)?;
            let rows: i64 = files.iter().map(|f| f.file.record_count).fold(0, i64::saturating_add);
            if let Some(recorded) = snapshot.total_record_count.filter(|recorded| *recorded != rows) {
                let evidence = format!("{recorded} rows are recorded, its files have {rows}");
                self.findings().add(&codes::SNAPSHOT_TOTALS, at, evidence);
            }
            if is_newest {
                levels::check(files, self.schema, snapshot, self.naming.findings);
            }
        }
        let files: Option<&[LiveFile]> = live.as_deref();
        let vectors = indexes::check(&self.naming, snapshot, files, self.options.deep, &mut self.checked)?;
        if let Some(files) = files.filter(|_| is_newest) {
            health::check(&Newest {
                location: self.folder.root(),
                files,
                manifests: list,
                vectors: &vectors,
                snapshots: facts.snapshots.len(),
                schema: self.schema,
                findings: self.naming.findings,
            });
        }
        Ok(())
    }

    /// Checks the files of a changelog.
    fn changelog(&mut self, list: &[PaimonManifestFile], at: &str) -> Result<()> {
        let files = self.naming.added(list, at)?;
        let checks = FileChecks {
            store: self.files.store,
            findings: self.files.findings,
            options: self.files.options,
            context: None,
            broken: Some(&codes::CHANGELOG_DAMAGED),
        };
        checks.check(&files, &mut self.checked)
    }

    fn statistics(&mut self, snapshot: &PaimonSnapshot) -> Result<()> {
        let Some(name) = &snapshot.statistics else { return Ok(()) };
        let path = join(&join(self.folder.root(), "statistics"), name);
        let read = self.folder.store().get(&path).and_then(|bytes| crate::types::json_text::parse(&bytes).map(drop));
        match read {
            Ok(()) => Ok(()),
            Err(e) => folder::damaged(self.naming.findings, &codes::STATISTICS_MISSING, &path, &e),
        }
    }

    /// Finds files that nothing leads to, as their removal would.
    fn outside(&self) -> Result<()> {
        match orphans::orphan_files(self.folder, Some(now_ms().saturating_add(1))) {
            Ok(files) => {
                for path in files {
                    let code = &crate::format::diagnosis::table_codes::FILE_OUTSIDE;
                    self.findings().add(code, path, "nothing in the table leads to it");
                }
                Ok(())
            }
            // What can't be read is reported elsewhere.
            Err(_) => check_cancelled(),
        }
    }
}
