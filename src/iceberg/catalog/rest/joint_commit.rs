//! Commits to several tables in one request.
//!
//! The server answers a success without the new versions, so they are loaded. They must show the new snapshots.

use serde_json::json;

use super::catalog::RestCatalog;
use super::commit::{body_of, check_sendable, judged, undecided, unsettled, without_snapshots};
use super::effects::{Seen, seen, shows_snapshots};
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::verdict::ChangeVerdict;
use crate::error::{Error, Result, ResultExt};
use crate::iceberg::catalog::joint_publication::{JointPublisher, TableCommit};
use crate::iceberg::catalog::metadata_pointer::{Publication, TableVersion};
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::parallel::with_patience;

impl JointPublisher for RestCatalog {
    fn check(&self) -> Result<()> {
        let offered = self.session.server()?.check(Endpoint::CommitTransaction);
        offered.map_err(|e| {
            Error::unsupported("the catalog's server can't commit to several tables at once")
                .with("catalog", &self.session.name)
                .hint("Commit to one table after the other, with table.transaction()")
                .because(e)
        })
    }

    fn publish(&self, commits: &[TableCommit<'_>]) -> Publication<Vec<TableVersion>> {
        let verdict = match self.send(commits) {
            Ok(verdict) => verdict,
            Err(e) => return Publication::Refused(e),
        };
        let sent: Vec<&MetadataCommit> = commits.iter().map(|commit| commit.commit).collect();
        let looked = || Ok(seen_in(commits, &newest(commits)?));
        match unsettled(&self.session, verdict, &sent, looked) {
            Publication::Committed(()) => match newest(commits) {
                Ok(versions) if is_confirmed(commits, &versions) => Publication::Committed(versions),
                Ok(versions) => {
                    Publication::Unknown(judged(Ok(seen_in(commits, &versions)), without_snapshots(), false))
                }
                // The caller looks again.
                Err(e) => Publication::Unknown(undecided(e)),
            },
            Publication::Refused(e) => Publication::Refused(e),
            Publication::Unknown(e) | Publication::Disputed(e) => Publication::Unknown(e),
        }
    }
}

impl RestCatalog {
    fn send(&self, commits: &[TableCommit<'_>]) -> Result<ChangeVerdict> {
        let server = self.session.server()?;
        for commit in commits {
            check_sendable(server, commit.commit).with("table", commit.ident)?;
        }
        let endpoint = Endpoint::CommitTransaction;
        let changes: Vec<_> = commits.iter().map(|commit| body_of(commit.ident, commit.commit)).collect();
        let request = server.request(endpoint, RouteTarget::Catalog, &[])?.json(&json!({"table-changes": changes}));
        Ok(with_patience(|| server.change("commit to the tables", endpoint, &request)))
    }
}

/// The newest version of each table.
fn newest(commits: &[TableCommit<'_>]) -> Result<Vec<TableVersion>> {
    commits.iter().map(|commit| commit.versions.load().with("table", commit.ident)).collect()
}

/// What the newest version of each table tells about its commit.
fn seen_in(commits: &[TableCommit<'_>], newest: &[TableVersion]) -> Vec<Seen> {
    let pairs = commits.iter().zip(newest);
    pairs.map(|(c, newest)| seen(&newest.metadata, &c.base.metadata, c.commit)).collect()
}

/// Whether the newest versions have the snapshots of commits that the server confirmed. It may hide older ones.
fn is_confirmed(commits: &[TableCommit<'_>], newest: &[TableVersion]) -> bool {
    let mut all = commits.iter().zip(newest).zip(seen_in(commits, newest));
    all.all(|((c, newest), seen)| {
        matches!(seen, Seen::Made | Seen::Hidden) || shows_snapshots(&newest.metadata, c.commit)
    })
}
