//! Joint commits to tables of a register. All metadata files are written first. The register then switches all tables
//! at once.

use std::sync::Arc;

use super::filesystem::delete_old_files;
use super::joint_publication::{JointPublisher, TableCommit};
use super::metadata_names::number_of;
use super::metadata_pointer::{Publication, TableVersion};
use super::registered::{CatalogPointer, NamedCatalog, forget, found_at, metadata_folder, write_metadata};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::register::TableSwap;
use crate::parallel::with_patience;

/// The tables, each with its new metadata file, or `None` if it stays as it is.
type WrittenTables<'a> = Vec<(TableCommit<'a>, Option<String>)>;

impl JointPublisher for NamedCatalog {
    fn publish(&self, commits: &[TableCommit<'_>]) -> Publication<Vec<TableVersion>> {
        match self.published(commits) {
            Ok(versions) => Publication::Committed(versions),
            Err(e) if e.kind() == ErrorKind::CommitStateUnknown => Publication::Unknown(e),
            Err(e) => Publication::Refused(e),
        }
    }
}

impl NamedCatalog {
    fn published(&self, commits: &[TableCommit<'_>]) -> Result<Vec<TableVersion>> {
        let mut written: WrittenTables<'_> = Vec::with_capacity(commits.len());
        let mut written_all = Ok(());
        for commit in commits {
            match written_by(commit).with("table", commit.ident) {
                Ok(path) => written.push((*commit, path)),
                Err(e) => {
                    written_all = Err(e);
                    break;
                }
            }
        }
        if let Err(e) = written_all.and_then(|()| self.switch_all(&written)) {
            for (commit, path) in &written {
                path.iter().for_each(|path| forget(commit.store.as_ref(), path, &e));
            }
            return Err(e);
        }
        Ok(written.into_iter().map(|(commit, path)| version_of(commit, path)).collect())
    }

    fn switch_all(&self, written: &WrittenTables<'_>) -> Result<()> {
        let swaps: Vec<TableSwap<'_>> = (written.iter())
            .map(|(commit, to)| TableSwap { table: commit.ident, from: from_of(commit), to: to.as_deref() })
            .collect();
        let register = self.names.joint_swaps().ok_or_else(|| Error::internal("a register without joint switches"))?;
        let switched = match with_patience(|| register.swap_all(&swaps)) {
            Err(e) if e.kind() == ErrorKind::CommitStateUnknown => self.switched(written, e),
            other => other,
        };
        match switched? {
            true => Ok(()),
            false => Err(self.in_the_way(written)),
        }
    }

    /// Finds out whether the switches were made although the reply was lost. Each table tells it for all.
    fn switched(&self, written: &WrittenTables<'_>, lost: Error) -> Result<bool> {
        let mut lost = lost;
        for (commit, path) in written {
            let Some(to) = path else { continue };
            let (ident, store) = (commit.ident.clone(), Arc::clone(commit.store));
            match (CatalogPointer { catalog: self.clone(), ident, store }).swapped(from_of(commit), to, lost) {
                Ok(made) => return Ok(made),
                Err(e) => lost = e,
            }
        }
        Err(lost)
    }

    /// Why the register refused: a table was dropped, or another commit came first.
    fn in_the_way(&self, written: &WrittenTables<'_>) -> Error {
        for (commit, _) in written {
            match self.names.location(commit.ident) {
                Ok(None) => return self.no_table(commit.ident),
                Ok(Some(current)) if current != from_of(commit) => {
                    return Error::conflict("another commit made the next version of the table first")
                        .with("table", commit.ident)
                        .with("path", from_of(commit));
                }
                _ => {}
            }
        }
        Error::conflict("another commit made the next version of a table first")
    }
}

fn from_of<'a>(commit: &TableCommit<'a>) -> &'a str {
    &commit.base.found.metadata_location
}

/// Writes the metadata file of a table that changes.
fn written_by(commit: &TableCommit<'_>) -> Result<Option<String>> {
    if commit.commit.updates.is_empty() {
        return Ok(None);
    }
    let number = number_of(from_of(commit)).map_or(0, |n| n.saturating_add(1));
    write_metadata(commit.store.as_ref(), &commit.commit.next, number).map(Some)
}

fn version_of(commit: TableCommit<'_>, path: Option<String>) -> TableVersion {
    let Some(path) = path else { return commit.base.clone() };
    let next = &commit.commit.next;
    delete_old_files(commit.store.as_ref(), &metadata_folder(next), next, Some(&commit.base.metadata));
    TableVersion { metadata: Arc::new(next.clone()), found: found_at(path) }
}
