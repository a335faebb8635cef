//! The pointer to a table's current version, and how a commit is published.
//!
//! A commit is one request. Without a clear answer, the newest version is looked at: it shows the commit's snapshot, or
//! the outcome stays unknown. Nothing is deleted then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value as Json;

use super::answers::DescribedTable;
use super::credentials::table_options;
use super::effects::{Seen, has_effects, seen, shows_snapshots};
use super::endpoints::Endpoint;
use super::errors::ServerError;
use super::names::RouteTarget;
use super::planning::RestPlanner;
use super::planning::mode::PlanningMode;
use super::reports::send::{send, takes_reports};
use super::server::RestServer;
use super::session::{RestSession, SharedSession};
use super::snapshots::Snapshots;
use super::tables::{LoadedTable, ident_json};
use super::verdict::ChangeVerdict;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::TableLabels;
use crate::format::ident::TableIdent;
use crate::iceberg::catalog::interface::OpenedTable;
use crate::iceberg::catalog::metadata_files::FoundMetadata;
use crate::iceberg::catalog::metadata_pointer::{KeptBy, MetadataPointer, Publication, TableVersion};
use crate::iceberg::catalog::reports::MetricsReport;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::plan::served::planner::ScanPlanner;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::parallel::{lock_in_any_process, with_patience};
use crate::store::http::wait;
use crate::store::open_store;

/// The longest pause that a server can ask for before the next attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A version that was loaded.
#[derive(Clone, Debug)]
struct KeptVersion {
    etag: Option<String>,
    version: TableVersion,
}

impl KeptVersion {
    fn location(&self) -> String {
        self.version.metadata.location.clone()
    }
}

/// What was loaded last.
#[derive(Debug, Default)]
struct Kept {
    /// The version with all snapshots.
    whole: Option<KeptVersion>,
    /// The version with those of branches and tags. No commit starts from it.
    of_refs: Option<KeptVersion>,
    labels: TableLabels,
    /// What the server says about the table.
    config: Arc<BTreeMap<String, String>>,
}

impl Kept {
    /// A version, with all snapshots or not.
    fn any(&self) -> Option<&KeptVersion> {
        self.whole.as_ref().or(self.of_refs.as_ref())
    }

    fn slot(&mut self, snapshots: Snapshots) -> &mut Option<KeptVersion> {
        match snapshots {
            Snapshots::All => &mut self.whole,
            Snapshots::OfRefs => &mut self.of_refs,
        }
    }
}

/// A table of a REST catalog.
#[derive(Debug)]
pub(super) struct RestPointer {
    session: SharedSession,
    ident: TableIdent,
    kept: Mutex<Kept>,
}

impl RestPointer {
    /// The pointer to a table. Nothing is requested yet.
    pub(super) fn new(session: SharedSession, ident: &TableIdent) -> RestPointer {
        RestPointer { session, ident: ident.clone(), kept: Mutex::default() }
    }

    /// The table that a server described, with the store of its files.
    ///
    /// # Errors
    /// As [`table_options`] and [`open_store`].
    pub(super) fn opened(session: &SharedSession, ident: &TableIdent, table: &DescribedTable) -> Result<OpenedTable> {
        let options = table_options(session, ident, table).with("table", ident)?;
        let store = open_store(&table.metadata.location, options.as_map()).with("table", ident)?;
        let pointer = RestPointer::new(session.clone(), ident);
        let TableVersion { metadata, found } = pointer.keep(table);
        Ok(OpenedTable { store, metadata, found, versions: Arc::new(pointer) })
    }

    /// Remembers a version that was loaded, with its labels.
    fn keep(&self, table: &DescribedTable) -> TableVersion {
        if let Some(mut kept) = lock_in_any_process(&self.kept) {
            kept.labels = table.labels.clone();
            kept.config = Arc::new(table.config.clone());
        }
        self.keep_version(table)
    }

    /// Remembers a version, to ask later whether it changed. The answer to a commit has neither labels nor a
    /// configuration.
    fn keep_version(&self, table: &DescribedTable) -> TableVersion {
        let metadata_location = table.metadata_location.clone().unwrap_or_default();
        let found = FoundMetadata { metadata_location, version: None };
        let version = TableVersion { metadata: table.metadata.clone(), found };
        if let Some(mut kept) = lock_in_any_process(&self.kept) {
            *kept.slot(table.snapshots) = Some(KeptVersion { etag: table.etag.clone(), version: version.clone() });
        }
        version
    }

    fn kept(&self, snapshots: Snapshots) -> Option<KeptVersion> {
        lock_in_any_process(&self.kept).and_then(|mut kept| kept.slot(snapshots).clone())
    }

    /// The newest version with these snapshots.
    fn newest(&self, snapshots: Snapshots) -> Result<TableVersion> {
        let server = self.session.server()?;
        let kept = self.kept(snapshots);
        let etag = kept.as_ref().and_then(|kept| kept.etag.as_deref());
        match (server.load_with(&self.ident, etag, snapshots)?, kept) {
            (LoadedTable::Table(table), _) => Ok(self.keep(&table)),
            (LoadedTable::Unchanged, Some(kept)) => Ok(kept.version),
            (LoadedTable::Unchanged, None) => Err(Error::internal("a version that nobody remembers is unchanged")),
        }
    }

    /// Whether a new table was refused because a view has its name. Another attempt would be refused, too.
    fn is_name_of_view(&self, refusal: &Error) -> bool {
        let is_there = |server: &RestServer| Ok(!server.has_table(&self.ident)? && server.has_view(&self.ident)?);
        refusal.kind() == ErrorKind::AlreadyExists && self.session.server().and_then(is_there).unwrap_or(false)
    }

    /// Sends a commit. Returns the new version or what became of it.
    fn send(&self, server: &RestServer, commit: &MetadataCommit) -> Result<Sent> {
        check_sendable(server, commit)?;
        let endpoint = Endpoint::CommitTable;
        let body = body_of(&self.ident, commit);
        let request = server.request(endpoint, RouteTarget::Table(&self.ident), &[])?.json(&body);
        Ok(match with_patience(|| server.change("commit to the table", endpoint, &request)) {
            ChangeVerdict::Done(answer) => match server.parsed(endpoint, &request, || DescribedTable::of(&answer)) {
                Ok(table) if shows_snapshots(&table.metadata, commit) => {
                    Sent::Committed(Box::new(self.keep_version(&table)))
                }
                Ok(_) => Sent::Open(Box::new(ChangeVerdict::Unknown(without_snapshots()))),
                // The server says that it succeeded, but not with which result.
                Err(e) => Sent::Open(Box::new(ChangeVerdict::Unknown(e))),
            },
            verdict => Sent::Open(Box::new(verdict)),
        })
    }
}

/// The result of sending a commit.
enum Sent {
    /// The server made this version.
    Committed(Box<TableVersion>),
    /// Anything else.
    Open(Box<ChangeVerdict>),
}

/// Why a commit is refused before it is sent.
pub(super) fn check_sendable(server: &RestServer, commit: &MetadataCommit) -> Result<()> {
    match commit.added_snapshots().count() > 1 && server.takes_one_snapshot() {
        true => Err(one_snapshot(commit)),
        false => Ok(()),
    }
}

/// The commit to a table in JSON.
pub(super) fn body_of(ident: &TableIdent, commit: &MetadataCommit) -> Json {
    let mut body = commit.to_json();
    body["identifier"] = ident_json(ident);
    body
}

/// Whether a server refused a commit because of the number of its snapshots.
fn is_about_snapshots(said: &ServerError, commit: &MetadataCommit) -> bool {
    let message = said.message.to_ascii_lowercase();
    let counts = ["one snapshot", "single snapshot", "multiple snapshots", "more than one snapshot", "1 snapshot"];
    commit.added_snapshots().count() > 1 && counts.iter().any(|text| message.contains(text))
}

/// The error for a success that the server's own answer contradicts.
pub(super) fn without_snapshots() -> Error {
    Error::store("the catalog's server confirmed the commit, but the version that it returned lacks the new snapshot")
}

fn one_snapshot(commit: &MetadataCommit) -> Error {
    let count = commit.added_snapshots().count();
    Error::unsupported(format!("the catalog's server takes one new snapshot in a commit, and this commit has {count}"))
        .hint("Commit the changes one after another")
}

impl MetadataPointer for RestPointer {
    fn load(&self) -> Result<TableVersion> {
        self.newest(Snapshots::All)
    }

    fn load_as_opened(&self) -> Result<TableVersion> {
        self.newest(self.session.server()?.snapshots)
    }

    fn opens_with_all_snapshots(&self) -> bool {
        self.kept(Snapshots::OfRefs).is_none()
    }

    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication {
        let named = |e: Error| e.with("table", &self.ident);
        let verdict = match self.session.server().and_then(|server| self.send(server, commit)) {
            Ok(Sent::Committed(version)) => return Publication::Committed(version),
            Ok(Sent::Open(verdict)) => *verdict,
            Err(e) => return Publication::Refused(named(e)),
        };
        let verdict = match verdict {
            ChangeVerdict::InTheWay(e) if commit.creates() && self.is_name_of_view(&e) => {
                return Publication::Refused(named(e).hint("A view has this name: choose another name"));
            }
            verdict => verdict,
        };
        let looked = || match self.load() {
            Ok(newest) => Ok(vec![seen(&newest.metadata, &base.metadata, commit)]),
            // The commit was to create the table.
            Err(e) if commit.creates() && e.kind() == ErrorKind::NotFound => Ok(vec![Seen::NotYet]),
            Err(e) => Err(e),
        };
        match unsettled(&self.session, verdict, &[commit], looked) {
            Publication::Committed(()) => Publication::Unknown(named(Error::internal("a commit without a version"))),
            Publication::Refused(e) => Publication::Refused(named(e)),
            Publication::Unknown(e) | Publication::Disputed(e) => Publication::Unknown(named(e)),
        }
    }

    /// The caller has loaded the newest version just before.
    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool {
        let Some(kept) = self.kept(Snapshots::All) else { return false };
        let is_newer = kept.version.found.metadata_location != base.found.metadata_location
            || kept.version.metadata != base.metadata;
        is_newer && has_effects(&kept.version.metadata, commit)
    }

    fn check_writable(&self, _: &TableMetadata, _: &FoundMetadata) -> Result<()> {
        self.session.server()?.check(Endpoint::CommitTable).with("table", &self.ident)
    }

    fn root(&self, metadata: &TableMetadata, _: &FoundMetadata) -> String {
        metadata.location.trim_end_matches('/').to_owned()
    }

    fn is_by_folder(&self) -> bool {
        false
    }

    fn labels(&self) -> TableLabels {
        lock_in_any_process(&self.kept).map(|kept| kept.labels.clone()).unwrap_or_default()
    }

    fn planner(&self) -> Result<Option<Arc<dyn ScanPlanner>>> {
        let server = self.session.server()?;
        // A pointer from another process has not seen the server's configuration of the table.
        if server.has(Endpoint::PlanScan) && lock_in_any_process(&self.kept).is_some_and(|kept| kept.any().is_none()) {
            self.load_as_opened()?;
        }
        let known =
            lock_in_any_process(&self.kept).and_then(|kept| Some((kept.config.clone(), kept.any()?.location())));
        let (config, location) = known.unwrap_or_default();
        if PlanningMode::of_table(&config, &server.properties).with("table", &self.ident)? == PlanningMode::Client {
            return Ok(None);
        }
        server.check(Endpoint::PlanScan).with("table", &self.ident)?;
        let (session, ident) = (self.session.clone(), self.ident.clone());
        Ok(Some(Arc::new(RestPlanner { session, ident, location, config })))
    }

    fn takes_reports(&self) -> bool {
        takes_reports(&self.session)
    }

    fn report(&self, report: &MetricsReport) {
        send(&self.session, &self.ident, report);
    }

    fn takes_one_snapshot(&self) -> bool {
        self.session.server().is_ok_and(RestServer::takes_one_snapshot)
    }

    fn catalog(&self) -> Option<KeptBy<'_>> {
        let session = &self.session;
        let kept = KeptBy { name: &session.name, properties: &session.given, ident: &self.ident };
        session.is_of_any_process().then_some(kept)
    }
}

/// The result of a commit that the server did not confirm, by one request for one or several tables. `looked` loads
/// the newest version of each table and looks for the commit.
pub(super) fn unsettled(
    session: &RestSession,
    verdict: ChangeVerdict,
    commits: &[&MetadataCommit],
    looked: impl Fn() -> Result<Vec<Seen>>,
) -> Publication<()> {
    match verdict {
        ChangeVerdict::Done(_) => Publication::Committed(()),
        ChangeVerdict::Refused(said, e) if said.is_late() => Publication::Unknown(conflict(e)),
        ChangeVerdict::Refused(said, e) => match commits.iter().find(|commit| is_about_snapshots(&said, commit)) {
            Some(commit) => {
                // The next commits have one snapshot.
                if let Ok(server) = session.server() {
                    server.limit_snapshots();
                }
                Publication::Refused(one_snapshot(commit).because(e))
            }
            None => Publication::Refused(e),
        },
        ChangeVerdict::InTheWay(e) => Publication::Unknown(conflict(e)),
        // The server wants another attempt, so this one changed nothing if it can't be seen.
        ChangeVerdict::Later(e, pause) => match wait(pause.unwrap_or_default().min(LONGEST_PAUSE)) {
            Ok(()) => Publication::Unknown(judged(looked(), e, true)),
            Err(stop) => Publication::Unknown(stop),
        },
        ChangeVerdict::Unknown(e) => Publication::Unknown(judged(looked(), e, false)),
    }
}

/// What the newest versions tell about a commit without a clear answer. `asked` tells that the server wants another
/// attempt.
pub(super) fn judged(found: Result<Vec<Seen>>, e: Error, asked: bool) -> Error {
    let found = match found {
        Ok(found) => found,
        Err(why) => return undecided(e.with("looked", why.message())),
    };
    // The caller looks at the newest version again.
    if found.contains(&Seen::Made) {
        return undecided(e);
    }
    // The requirements of one table decide for all.
    match found.contains(&Seen::Overtaken) || (asked && found.iter().all(|seen| *seen == Seen::NotYet)) {
        true => conflict(e),
        false => undecided(e),
    }
}

/// An error after which the commit is tried again on the newest version.
fn conflict(e: Error) -> Error {
    match e.kind() {
        ErrorKind::CommitConflict => e,
        _ => Error::conflict("the catalog's server did not take the commit").because(e),
    }
}

/// An error that does not say what became of the commit.
pub(super) fn undecided(e: Error) -> Error {
    match e.kind() {
        ErrorKind::Store | ErrorKind::CommitStateUnknown => e,
        _ => Error::store("the answer to the commit does not tell its outcome").because(e),
    }
}
