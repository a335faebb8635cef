//! Requests that add a table by its metadata file, or take it out of the catalog and leave its files.

use serde_json::json;

use super::answers::{DescribedTable, members};
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use super::tables::LoadedTable;
use super::verdict::unknown;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::store::http::HttpAnswer;

impl RestServer {
    /// Registers a table by its metadata file. With `overwrite`, a table of this name gets the file's version.
    ///
    /// # Errors
    /// `AlreadyExists`; `NotFound`; `CommitStateUnknown`; the server's refusal.
    pub(super) fn register_table(
        &self,
        ident: &TableIdent,
        metadata_location: &str,
        overwrite: bool,
    ) -> Result<DescribedTable> {
        let endpoint = Endpoint::RegisterTable;
        let mut body = json!({"name": ident.name, "metadata-location": metadata_location});
        if overwrite {
            body["overwrite"] = json!(true);
        }
        let request = self.request(endpoint, RouteTarget::Namespace(&ident.namespace), &[])?;
        let request = self.with_delegation(request).json(&body);
        let mut found = None;
        let answered = self.change("register the table", endpoint, &request).settled(|| {
            if let LoadedTable::Table(table) = self.load_table(ident, None)? {
                found = Some(*table).filter(|t| t.metadata_location.as_deref() == Some(metadata_location));
            }
            Ok(found.is_some())
        });
        match answered.with("table", ident) {
            Ok(Some(answer)) => self.parsed(endpoint, &request, || DescribedTable::of(&answer)).with("table", ident),
            Ok(None) => found.ok_or_else(|| Error::internal("a registration without a result")),
            Err(e) if overwrite && e.kind() == ErrorKind::AlreadyExists => {
                Err(e.hint("The server does not overwrite tables: unregister or drop the table first"))
            }
            Err(e) => Err(e),
        }
    }

    /// Takes a table out of the catalog. Its files stay. Returns the newest metadata file.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` if the server does not offer it; `CommitStateUnknown`, also if the table is gone but
    /// the answer with its file was lost; the server's refusal.
    pub(super) fn unregister_table(&self, ident: &TableIdent) -> Result<String> {
        let endpoint = Endpoint::UnregisterTable;
        if !self.has(endpoint) {
            return Err(Error::unsupported("the catalog's server does not offer to unregister tables")
                .with("table", ident)
                .with("endpoint", endpoint.text())
                .hint(
                    "drop_table() without purge removes the name too. Ask whether this server keeps the files then",
                ));
        }
        // The file is known before its name is given up.
        let before = match self.load_table(ident, None)? {
            LoadedTable::Table(table) => table.metadata_location.unwrap_or_default(),
            LoadedTable::Unchanged => String::new(),
        };
        let request = self.request(endpoint, RouteTarget::Table(ident), &[])?;
        let verdict = self.change("unregister the table", endpoint, &request);
        let answered = match verdict.settled_twice(|| Ok(!self.has_table(ident)?)) {
            Ok(Some(answer)) => self.parsed(endpoint, &request, || last_file(&answer)).map_err(unknown),
            Ok(None) => Err(Error::state_unknown("the table is unregistered, but the server's answer was lost")
                .hint("The newest file in the table's metadata folder is its last version. It may be a later one")),
            Err(e) => Err(e),
        };
        answered.map_err(|e| match e.kind() {
            ErrorKind::CommitStateUnknown => e.with("table", ident).with("metadata", before),
            _ => e.with("table", ident),
        })
    }
}

/// The metadata file that an answer names.
fn last_file(answer: &HttpAnswer) -> Result<String> {
    members(answer)?.required_string("metadata-location")
}
