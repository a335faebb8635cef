//! Tables that are created together with their first commit.
//!
//! A staged table has metadata and a store, but the catalog does not know it yet. The first commit creates it. It has
//! all changes since the empty table, and requires that the table does not exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::interface::OpenedTable;
use super::metadata_files::FoundMetadata;
use super::metadata_pointer::{KeptBy, MetadataPointer, Publication, TableVersion};
use super::reports::MetricsReport;
use super::rest::{has_effects, has_snapshot};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::TableLabels;
use crate::format::commit_loop::unknown;
use crate::format::ident::TableIdent;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::plan::served::planner::ScanPlanner;
use crate::iceberg::spec::metadata::TableMetadata;

/// The pointer of a table that is not created yet. The first commit goes through it.
#[derive(Debug)]
pub struct CreatingPointer {
    ident: TableIdent,
    /// The pointer of the table once it exists.
    inner: Arc<dyn MetadataPointer>,
    staged: TableVersion,
    /// Whether the first commit was sent, so that the table may exist.
    is_sent: AtomicBool,
    is_made: AtomicBool,
}

impl CreatingPointer {
    /// A staged table, and the pointer that creates it. The first commit tells the table's identity.
    pub fn of(ident: &TableIdent, staged: OpenedTable) -> (Arc<CreatingPointer>, OpenedTable) {
        let OpenedTable { store, mut metadata, found, versions } = staged;
        if metadata.table_uuid.is_none() {
            Arc::make_mut(&mut metadata).table_uuid = Some(uuid::Uuid::new_v4().to_string());
        }
        let version = TableVersion { metadata: metadata.clone(), found: found.clone() };
        let pointer = Arc::new(CreatingPointer {
            ident: ident.clone(),
            inner: versions,
            staged: version,
            is_sent: AtomicBool::new(false),
            is_made: AtomicBool::new(false),
        });
        (pointer.clone(), OpenedTable { store, metadata, found, versions: pointer })
    }

    /// Whether the table exists.
    pub fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    /// The newest version, if the catalog has the table by now. Its identity shows that it is this table, or a snapshot
    /// of `sent`: some servers choose the identity themselves.
    ///
    /// # Errors
    /// `AlreadyExists` if another table has the name.
    fn found(&self, sent: &[i64]) -> Result<Option<TableVersion>> {
        let Some(version) = self.inner.load().if_found()? else { return Ok(None) };
        let own = self.staged.metadata.table_uuid.as_deref().unwrap_or_default();
        let uuid = version.metadata.table_uuid.as_deref().unwrap_or_default();
        if uuid.eq_ignore_ascii_case(own) || has_any(&version.metadata, sent) {
            self.is_made.store(true, Ordering::Release);
            return Ok(Some(version));
        }
        Err(Error::already_exists(format!("the table '{}' already exists", self.ident))
            .hint("Another client created it meanwhile. Nothing of this table is left"))
    }

    /// The result of the first commit, by what the catalog has now. The table alone proves nothing: some servers create
    /// it when it is staged.
    fn decided(&self, unclear: Publication, first: &MetadataCommit) -> Publication {
        let error = match unclear {
            Publication::Unknown(e) => e,
            Publication::Refused(e) => return Publication::Refused(e.with("table", &self.ident)),
            // Only a later version decides about a disputed one.
            clear => return clear,
        };
        let sent: Vec<i64> = first.added_snapshots().collect();
        let has_changes = |metadata: &TableMetadata| match sent.is_empty() {
            true => has_effects(metadata, first),
            false => has_any(metadata, &sent),
        };
        match self.found(&sent) {
            Ok(Some(version)) if has_changes(&version.metadata) => Publication::Committed(Box::new(version)),
            // The table is as it was staged. After a conflict, the next attempt adds the changes.
            Ok(Some(version)) if version.metadata.snapshots.is_empty() => Publication::Unknown(error),
            // The history may be hidden.
            Ok(Some(_)) => Publication::Unknown(unknown(error)),
            // A server that chooses the identity may have made this table. Only a conflict shows that it did not.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && error.kind() == ErrorKind::CommitConflict => {
                Publication::Refused(e.because(error))
            }
            Ok(None) | Err(_) => Publication::Unknown(error),
        }
    }
}

/// Whether a version has one of these snapshots.
fn has_any(metadata: &TableMetadata, snapshots: &[i64]) -> bool {
    snapshots.iter().any(|id| has_snapshot(metadata, *id))
}

impl MetadataPointer for CreatingPointer {
    /// The staged version, until the table exists.
    fn load(&self) -> Result<TableVersion> {
        if self.is_made() {
            return self.inner.load();
        }
        let found = if self.is_sent.load(Ordering::Acquire) { self.found(&[])? } else { None };
        Ok(found.unwrap_or_else(|| self.staged.clone()))
    }

    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication {
        if self.is_made() {
            return self.inner.publish(base, commit);
        }
        let first = match MetadataCommit::creating(&commit.next) {
            Ok(first) => first,
            Err(e) => return Publication::Refused(e),
        };
        self.is_sent.store(true, Ordering::Release);
        let published = self.decided(self.inner.publish(&self.staged, &first), &first);
        if let Publication::Committed(_) = published {
            self.is_made.store(true, Ordering::Release);
        }
        published
    }

    /// The caller has loaded the newest version just before, and has looked for the commit's snapshots.
    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool {
        if !Arc::ptr_eq(&base.metadata, &self.staged.metadata) {
            return self.inner.was_published(base, commit);
        }
        let has_changes = || self.inner.load().is_ok_and(|newest| has_effects(&newest.metadata, commit));
        let has_rows = commit.added_snapshots().next().is_some();
        self.is_made() && !has_rows && (commit.updates.is_empty() || has_changes())
    }

    fn check_writable(&self, metadata: &TableMetadata, found: &FoundMetadata) -> Result<()> {
        if self.is_made() { self.inner.check_writable(metadata, found) } else { Ok(()) }
    }

    fn root(&self, metadata: &TableMetadata, found: &FoundMetadata) -> String {
        match self.is_made() {
            true => self.inner.root(metadata, found),
            false => metadata.location.trim_end_matches('/').to_owned(),
        }
    }

    fn is_by_folder(&self) -> bool {
        self.inner.is_by_folder()
    }

    fn takes_one_snapshot(&self) -> bool {
        self.inner.takes_one_snapshot()
    }

    fn lasting(&self) -> Option<Arc<dyn MetadataPointer>> {
        self.is_made().then(|| self.inner.clone())
    }

    fn labels(&self) -> TableLabels {
        self.inner.labels()
    }

    /// A server plans no scans of a table that does not exist.
    fn planner(&self) -> Result<Option<Arc<dyn ScanPlanner>>> {
        if self.is_made() { self.inner.planner() } else { Ok(None) }
    }

    fn takes_reports(&self) -> bool {
        self.is_made() && self.inner.takes_reports()
    }

    fn report(&self, report: &MetricsReport) {
        self.inner.report(report);
    }

    /// Other processes can't open a table that does not exist.
    fn catalog(&self) -> Option<KeptBy<'_>> {
        if self.is_made() { self.inner.catalog() } else { None }
    }
}

#[cfg(test)]
#[path = "creation_tests.rs"]
mod tests;
