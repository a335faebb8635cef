//! The attempts of a commit to one table, or to several tables of a catalog.

use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit_loop::{CommitAttempt, unknown};
use crate::iceberg::catalog::joint_publication::{JointPublisher, TableCommit};
use crate::iceberg::catalog::metadata_pointer::{Publication, TableVersion};
use crate::iceberg::catalog::reports::{CommitReport, MetricsReport};
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::{TableChanges, names, reload};
use crate::parallel::pause;

/// How often to look again if only some tables seem to have the commit.
const LOOKS: u32 = 3;

/// The pause before that.
const PAUSE: Duration = Duration::from_millis(100);

/// An attempt to make changes.
pub(crate) struct ChangeAttempt<'a> {
    tables: &'a mut [TableChanges],
    /// The catalog that commits to several tables.
    publisher: Option<&'a dyn JointPublisher>,
    /// How the last publication ended.
    ended: Ended,
    /// The new snapshots of each table, in the last publication.
    sent: Vec<Vec<i64>>,
    attempts: u32,
}

/// How a publication ended, if it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The newest version decides.
    Open,
    /// It certainly failed.
    Failed,
    /// Another writer published the same version. Only a later version decides.
    Disputed,
}

impl<'a> ChangeAttempt<'a> {
    pub(crate) fn new(tables: &'a mut [TableChanges], publisher: Option<&'a dyn JointPublisher>) -> ChangeAttempt<'a> {
        ChangeAttempt { tables, publisher, ended: Ended::Open, sent: Vec::new(), attempts: 0 }
    }

    /// Tells the catalog about a commit that succeeded.
    pub(crate) fn report(&self, made: &[IcebergTable], began: Instant) {
        for (sent, table) in self.sent.iter().zip(made) {
            let versions = &table.inner.versions;
            if sent.is_empty() || !versions.takes_reports() {
                continue;
            }
            for snapshot in sent.iter().filter_map(|id| table.inner.metadata.snapshot_by_id(*id)) {
                versions.report(&MetricsReport::Commit(Box::new(CommitReport {
                    snapshot_id: snapshot.id,
                    sequence_number: snapshot.sequence_number,
                    summary: snapshot.summary.clone(),
                    attempts: self.attempts,
                    duration: began.elapsed(),
                })));
            }
        }
    }

    /// The newest version of each table. An error says so if a table has the last publication already.
    fn reloaded(&self) -> Result<Vec<TableVersion>> {
        let mut found = Vec::with_capacity(self.tables.len());
        for table in self.tables.iter() {
            match named(table, reload(&table.table)) {
                Ok(version) => found.push(version),
                Err(e) if self.shown(&found).any(|is_shown| is_shown) => return Err(partly_made().because(e)),
                Err(e) => return Err(e),
            }
        }
        Ok(found)
    }

    /// Whether tables have their new snapshots of the last publication. Tables without new snapshots are left out.
    fn shown(&self, newest: &[TableVersion]) -> impl Iterator<Item = bool> {
        let with_snapshots = self.sent.iter().zip(newest).filter(|(ids, _)| !ids.is_empty());
        with_snapshots.map(|(ids, version)| ids.iter().any(|id| version.metadata.snapshot_by_id(*id).is_some()))
    }

    /// The tables at these versions, which say what the last publication added.
    fn at(&self, versions: Vec<TableVersion>) -> Result<Vec<IcebergTable>> {
        let made = self.tables.iter().zip(versions).enumerate().map(|(number, (t, v))| {
            let table = t.table.at(v.metadata, v.found)?;
            Ok(table.made_by(self.sent.get(number).cloned().unwrap_or_default()))
        });
        made.collect()
    }

    /// Whether some tables have the new snapshots of the last publication, and others have not.
    fn is_partly_made(&self, newest: &[TableVersion]) -> bool {
        self.shown(newest).any(|is_shown| is_shown) && self.shown(newest).any(|is_shown| !is_shown)
    }

    fn publish_all(&self, base: &[TableVersion], commits: &[MetadataCommit]) -> Publication<Vec<TableVersion>> {
        let Some(publisher) = self.publisher else {
            return Publication::Refused(Error::internal("a commit to several tables without their catalog"));
        };
        let parts: Vec<TableCommit<'_>> = (self.tables.iter().zip(base).zip(commits))
            .filter_map(|((t, base), commit)| {
                let (store, versions) = (&t.table.inner.store, t.table.inner.versions.as_ref());
                Some(TableCommit { ident: t.ident.as_ref()?, store, versions, base, commit })
            })
            .collect();
        match parts.len() == self.tables.len() {
            true => publisher.publish(&parts),
            false => Publication::Refused(Error::internal("a commit to several tables without their names")),
        }
    }

    /// Whether each table has its part of a commit. `None` for a part without updates.
    fn made(&self, newest: &[TableVersion], base: &[TableVersion], commits: &[MetadataCommit]) -> Vec<Option<bool>> {
        let parts = self.tables.iter().zip(newest).zip(base.iter().zip(commits));
        let made = parts.map(|((t, newest), (base, commit))| {
            let is_made = || {
                let marked = t.changes.iter().any(|c| c.is_marked_in(&newest.metadata));
                marked || t.table.inner.versions.was_published(base, commit)
            };
            (self.tables.len() == 1 || !commit.updates.is_empty()).then(is_made)
        });
        made.collect()
    }
}

/// An error that names the table, if there are several.
fn named<T>(table: &TableChanges, result: Result<T>) -> Result<T> {
    match &table.ident {
        Some(ident) => result.with("table", ident),
        None => result,
    }
}

/// The error for a commit that some tables have, as far as can be seen.
fn partly_made() -> Error {
    Error::state_unknown("only some of the tables have their part of the commit")
}

impl CommitAttempt for ChangeAttempt<'_> {
    type Base = Vec<TableVersion>;
    type Next = Vec<MetadataCommit>;
    type Done = Vec<IcebergTable>;

    /// A commit to several tables can be made between the loads of two of them. Then all are loaded again.
    fn newest(&mut self) -> Result<Vec<TableVersion>> {
        let mut newest = self.reloaded()?;
        for _ in 0..LOOKS {
            if !self.is_partly_made(&newest) {
                break;
            }
            let again = pause(PAUSE).and_then(|()| self.reloaded());
            newest = again.map_err(|e| partly_made().because(e))?;
        }
        Ok(newest)
    }

    fn newer(&mut self, base: &Vec<TableVersion>, error: &Error) -> Option<Vec<TableVersion>> {
        let newest = (error.kind() == ErrorKind::NotFound).then(|| self.reloaded().ok()).flatten()?;
        let moved =
            |(new, old): (&TableVersion, &TableVersion)| new.found.metadata_location != old.found.metadata_location;
        newest.iter().zip(base).any(moved).then_some(newest)
    }

    fn is_applied(&mut self, base: &Vec<TableVersion>) -> Result<bool> {
        let applied =
            |(t, base): (&TableChanges, &TableVersion)| t.changes.iter().all(|c| c.is_applied(&base.metadata));
        Ok(self.tables.iter().zip(base).all(applied))
    }

    fn prepare(&mut self, base: &Vec<TableVersion>) -> Result<Vec<MetadataCommit>> {
        self.attempts += 1;
        self.tables
            .iter_mut()
            .zip(base)
            .map(|(t, base)| {
                let made = t.prepare(base);
                named(t, made)
            })
            .collect()
    }

    fn publish(&mut self, base: &Vec<TableVersion>, commits: &Vec<MetadataCommit>) -> Result<Vec<IcebergTable>> {
        self.ended = Ended::Open;
        self.sent = commits.iter().map(|commit| commit.added_snapshots().collect()).collect();
        let publication = match (&*self.tables, &base[..], &commits[..]) {
            ([one], [base], [commit]) => one.table.inner.versions.publish(base, commit).map(|version| vec![*version]),
            _ => self.publish_all(base, commits),
        };
        match publication {
            Publication::Committed(versions) => self.at(versions).map_err(unknown),
            Publication::Refused(e) => {
                self.ended = Ended::Failed;
                Err(e)
            }
            Publication::Disputed(e) => {
                self.ended = Ended::Disputed;
                Err(e)
            }
            Publication::Unknown(e) => Err(e),
        }
    }

    fn was_published(
        &mut self,
        newest: &Vec<TableVersion>,
        base: &Vec<TableVersion>,
        commits: &Vec<MetadataCommit>,
    ) -> Result<bool> {
        if let ([one], [newest], [base]) = (&*self.tables, &newest[..], &base[..])
            && self.ended == Ended::Disputed
        {
            // A commit that was built on the other file may still come.
            let marked = one.changes.iter().any(|c| c.is_marked_in(&newest.metadata));
            let number = |at: &TableVersion| at.found.version.unwrap_or_default();
            return Ok(marked && number(newest) > number(base).saturating_add(1));
        }
        let made = self.made(newest, base, commits);
        if made.contains(&Some(true)) && !made.contains(&Some(false)) {
            return Ok(true);
        }
        // Only a snapshot proves it. Another writer may have set the same property.
        let some = made
            .iter()
            .zip(commits)
            .any(|(made, commit)| *made == Some(true) && commit.added_snapshots().next().is_some());
        match some {
            true => Err(partly_made()
                .with("made", names(self.tables, |at| made.get(at) == Some(&Some(true))))
                .with("missing", names(self.tables, |at| made.get(at) == Some(&Some(false))))),
            false => Ok(false),
        }
    }

    fn done(&mut self, base: Vec<TableVersion>) -> Result<Vec<IcebergTable>> {
        self.at(base)
    }

    fn is_certain(&self, _: &Error) -> bool {
        self.ended == Ended::Failed
    }

    fn is_refused(&self, error: &Error) -> bool {
        self.tables.iter().all(|t| t.table.inner.store.refused(error))
    }
}
