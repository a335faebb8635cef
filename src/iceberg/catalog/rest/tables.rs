//! Requests about tables.

use serde_json::{Value as Json, json};

use super::answers::DescribedTable;
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use super::snapshots::Snapshots;
use super::verdict::{ChangeVerdict, unknown};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::partition::spec_to_json;
use crate::iceberg::spec::sort_order::sort_order_to_json;
use crate::store::location::join;
use crate::types::schema_json::schema_to_json;

/// The answer to a load.
pub(super) enum LoadedTable {
    /// The table.
    Table(Box<DescribedTable>),
    /// The version of this mark is still the newest.
    Unchanged,
}

/// A table's identifier in JSON.
pub(super) fn ident_json(ident: &TableIdent) -> Json {
    json!({"namespace": ident.namespace, "name": ident.name})
}

impl RestServer {
    /// Loads a table, unless `etag` is the mark of its newest version. A mark belongs to a load of the same snapshots.
    ///
    /// # Errors
    /// `NotFound`; as [`RestServer::read`].
    pub(super) fn load_with(
        &self,
        ident: &TableIdent,
        etag: Option<&str>,
        snapshots: Snapshots,
    ) -> Result<LoadedTable> {
        let endpoint = Endpoint::LoadTable;
        let request = self.request(endpoint, RouteTarget::Table(ident), &[snapshots.query()])?;
        let mut request = self.with_delegation(request);
        if let Some(etag) = etag {
            request = request.header("If-None-Match", etag);
        }
        let answer = self.read("load the table", endpoint, &request).with("table", ident)?;
        if answer.status == 304 && etag.is_some() {
            return Ok(LoadedTable::Unchanged);
        }
        let table = self.parsed(endpoint, &request, || DescribedTable::of(&answer)).with("table", ident)?;
        Ok(LoadedTable::Table(Box::new(DescribedTable { snapshots, ..table })))
    }

    /// Loads a table with all its snapshots, unless `etag` is the mark of its newest version.
    ///
    /// # Errors
    /// As [`RestServer::load_with`].
    pub(super) fn load_table(&self, ident: &TableIdent, etag: Option<&str>) -> Result<LoadedTable> {
        self.load_with(ident, etag, Snapshots::All)
    }

    /// Whether a table exists.
    ///
    /// # Errors
    /// As [`RestServer::read`].
    pub(super) fn has_table(&self, ident: &TableIdent) -> Result<bool> {
        let (endpoint, query) = match self.has(Endpoint::TableExists) {
            true => (Endpoint::TableExists, vec![]),
            // The fewest snapshots are enough.
            false => (Endpoint::LoadTable, vec![Snapshots::OfRefs.query()]),
        };
        let request = self.request(endpoint, RouteTarget::Table(ident), &query)?;
        self.exists("look for the table", endpoint, &request).with("table", ident)
    }

    /// Creates a table.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` without the namespace; `CommitStateUnknown`; the server's refusal.
    pub(super) fn create_table(
        &self,
        ident: &TableIdent,
        commit: &MetadataCommit,
        location: Option<&str>,
    ) -> Result<DescribedTable> {
        let verdict = self.sent_table(ident, &commit.next, location, false)?;
        self.created(ident, commit, verdict).with("table", ident)
    }

    /// Asks for the first version of a table without creating it.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound` without the namespace; the server's refusal; errors of the connection.
    pub(super) fn stage_table(
        &self,
        ident: &TableIdent,
        commit: &MetadataCommit,
        location: Option<&str>,
    ) -> Result<DescribedTable> {
        let staged = match self.sent_table(ident, &commit.next, location, true)? {
            ChangeVerdict::Done(answer) => DescribedTable::of(&answer),
            ChangeVerdict::Unknown(e) => Err(Error::store("the catalog's server did not prepare the new table")
                .because(e)
                .hint("Nothing was created. Try again")),
            ChangeVerdict::InTheWay(e) | ChangeVerdict::Refused(_, e) | ChangeVerdict::Later(e, _) => Err(e),
        };
        staged.with("table", ident)
    }

    /// Sends a new table, at the location that the server wants.
    fn sent_table(
        &self,
        ident: &TableIdent,
        table: &TableMetadata,
        location: Option<&str>,
        staged: bool,
    ) -> Result<ChangeVerdict> {
        match self.send_table(ident, table, location, staged)? {
            ChangeVerdict::Refused(said, e) if says_location(&said.message) => match location {
                Some(_) => Err(e.hint("The server decides where tables are: leave out location=")),
                // The server wants to be told a location.
                None => match self.namespace_properties(&ident.namespace)?.get("location") {
                    Some(folder) => {
                        let location = join(folder.trim_end_matches('/'), &ident.name);
                        self.send_table(ident, table, Some(&location), staged)
                    }
                    None => Err(e.hint("Give the table a location=, or the namespace a property location")),
                },
            },
            verdict => Ok(verdict),
        }
        .with("table", ident)
    }

    fn send_table(
        &self,
        ident: &TableIdent,
        table: &TableMetadata,
        location: Option<&str>,
        staged: bool,
    ) -> Result<ChangeVerdict> {
        let endpoint = Endpoint::CreateTable;
        let mut properties = table.properties.clone();
        properties.insert("format-version".to_owned(), table.format_version.to_string());
        let mut body = json!({
            "name": ident.name,
            "schema": schema_to_json(table.schema()?),
            "partition-spec": spec_to_json(table.spec()?),
            "write-order": sort_order_to_json(table.sort_order()?),
            "stage-create": staged,
            "properties": properties,
        });
        if let Some(location) = location {
            body["location"] = json!(location);
        }
        let request = self.request(endpoint, RouteTarget::Namespace(&ident.namespace), &[])?;
        let request = self.with_delegation(request).json(&body);
        Ok(self.change("create the table", endpoint, &request))
    }

    /// The created table. After an unknown outcome, a table like the new one counts as created.
    fn created(&self, ident: &TableIdent, commit: &MetadataCommit, verdict: ChangeVerdict) -> Result<DescribedTable> {
        let lost = match verdict {
            ChangeVerdict::Done(answer) => match DescribedTable::of(&answer) {
                Ok(table) => return Ok(table),
                Err(e) => e,
            },
            ChangeVerdict::Unknown(e) => e,
            ChangeVerdict::InTheWay(e) if e.kind() != ErrorKind::CommitConflict => return Err(e),
            ChangeVerdict::Refused(_, e) => return Err(e),
            ChangeVerdict::InTheWay(e) | ChangeVerdict::Later(e, _) => {
                return match self.load_table(ident, None) {
                    Ok(LoadedTable::Table(table)) if is_like(&table.metadata, &commit.next) => Ok(*table),
                    _ => Err(e),
                };
            }
        };
        match self.load_table(ident, None) {
            Ok(LoadedTable::Table(table)) if is_like(&table.metadata, &commit.next) => Ok(*table),
            Ok(_) => Err(unknown(lost)),
            Err(e) => Err(unknown(lost.with("looked", e.message()))),
        }
    }

    /// Renames a table.
    ///
    /// # Errors
    /// `NotFound`; `AlreadyExists`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        let endpoint = Endpoint::RenameTable;
        let body = json!({"source": ident_json(from), "destination": ident_json(to)});
        let request = self.request(endpoint, RouteTarget::Catalog, &[])?.json(&body);
        let verdict = self.change("rename the table", endpoint, &request);
        let done = verdict.settled_twice(|| Ok(!self.has_table(from)? && self.has_table(to)?));
        done.map(drop).with("table", from).with("to", to)
    }

    /// Removes a table. Says explicitly whether the files are to be removed, because servers have different defaults.
    ///
    /// # Errors
    /// `NotFound`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn drop_table(&self, ident: &TableIdent, purge: bool) -> Result<()> {
        let endpoint = Endpoint::DropTable;
        let query = [("purgeRequested", if purge { "true" } else { "false" })];
        let request = self.request(endpoint, RouteTarget::Table(ident), &query)?;
        match self.change("drop the table", endpoint, &request) {
            ChangeVerdict::Refused(said, e) if said.message.to_ascii_lowercase().contains("purge") => {
                Err(match purge {
                    true => e.hint("The server does not delete files: use purge=False"),
                    false => e.hint("The server drops tables only together with their files: use purge=True"),
                })
            }
            verdict => verdict.settled_twice(|| Ok(!self.has_table(ident)?)).map(drop),
        }
        .with("table", ident)
    }
}

/// Whether a message is about a location.
fn says_location(message: &str) -> bool {
    message.to_ascii_lowercase().contains("location")
}

/// Whether a table may be the one that was created.
fn is_like(found: &TableMetadata, created: &TableMetadata) -> bool {
    let same_schema = match (found.schema(), created.schema()) {
        (Ok(found), Ok(created)) => found.fields == created.fields,
        _ => false,
    };
    let same_properties = created.properties.iter().all(|(name, value)| found.properties.get(name) == Some(value));
    same_schema && same_properties && found.snapshots.is_empty()
}
