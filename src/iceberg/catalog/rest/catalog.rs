//! The REST catalog as other code sees it: namespaces, tables and views by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::commit::RestPointer;
use super::endpoints::Endpoint;
use super::session::{RestSession, SharedSession};
use super::tables::LoadedTable;
use crate::error::{Error, Result, ResultExt};
use crate::format::deletion::OutsideLocations;
use crate::format::ident::TableIdent;
use crate::format::view::{NewView, ViewInfo};
use crate::iceberg::catalog::interface::{OpenedTable, TableCatalog, ViewCatalog};
use crate::iceberg::catalog::joint_publication::JointPublisher;
use crate::iceberg::catalog::metadata_pointer::MetadataPointer;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::store::Store;
use crate::store::http::auth::HeaderProvider;

/// A catalog behind Iceberg's REST API.
#[derive(Clone, Debug)]
pub(crate) struct RestCatalog {
    pub(super) session: SharedSession,
}

impl RestCatalog {
    /// The catalog of a server. Nothing is requested yet.
    ///
    /// # Errors
    /// As [`RestSession::new`].
    pub(crate) fn new(
        name: &str,
        properties: &BTreeMap<String, String>,
        headers: Option<HeaderProvider>,
    ) -> Result<RestCatalog> {
        let session = RestSession::new(name, properties, headers).with("catalog", name)?;
        Ok(RestCatalog { session: Arc::new(session) })
    }

    /// The catalog of tables that another process has sent.
    ///
    /// # Errors
    /// As [`RestSession::of_handles`].
    pub(crate) fn of_handles(name: &str, properties: &BTreeMap<String, String>) -> Result<RestCatalog> {
        Ok(RestCatalog { session: RestSession::of_handles(name, properties).with("catalog", name)? })
    }
}

impl TableCatalog for RestCatalog {
    fn prepare(&self) -> Result<()> {
        self.session.server().map(drop)
    }

    fn server_properties(&self) -> Result<Option<&BTreeMap<String, String>>> {
        Ok(Some(&self.session.server()?.properties))
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.session.server()?.create_namespace(namespace, properties)
    }

    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.session.server()?.drop_namespace(namespace)
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        match namespace.is_empty() || self.session.server()?.has_namespace(namespace)? {
            true => Ok(()),
            false => Err(Error::not_found(format!("the namespace '{}' does not exist", namespace.join(".")))
                .with("catalog", &self.session.name)
                .hint("Create it with create_namespace()")),
        }
    }

    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        let mut out = self.session.server()?.namespaces(parent)?;
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        self.session.server()?.namespace_properties(namespace)
    }

    fn update_namespace_properties(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()> {
        if let Some(key) = removed.iter().find(|key| set.contains_key(*key)) {
            return Err(Error::invalid(format!("the property '{key}' can't be both removed and set")));
        }
        self.session.server()?.update_namespace(namespace, removed, set)
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let mut out = self.session.server()?.tables(namespace)?;
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    /// The server checks it.
    fn check_parent(&self, _: &[String]) -> Result<()> {
        Ok(())
    }

    fn exists(&self, ident: &TableIdent) -> Result<bool> {
        self.session.server()?.has_table(ident)
    }

    /// The server decides.
    fn new_location(&self, _: &TableIdent) -> Result<Option<String>> {
        Ok(None)
    }

    fn load(&self, ident: &TableIdent) -> Result<OpenedTable> {
        let known = self.session.remembered(ident);
        let etag = known.as_ref().and_then(|known| known.etag.as_deref());
        let server = self.session.server()?;
        let table = match (server.load_with(ident, etag, server.snapshots)?, known) {
            (LoadedTable::Table(table), _) => {
                let table = Arc::from(table);
                self.session.remember(ident, &table);
                table
            }
            (LoadedTable::Unchanged, Some(known)) => known,
            (LoadedTable::Unchanged, None) => {
                return Err(Error::internal("a version that nobody remembers is unchanged"));
            }
        };
        RestPointer::opened(&self.session, ident, &table)
    }

    fn versions(&self, ident: &TableIdent, _: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>> {
        Ok(Arc::new(RestPointer::new(self.session.clone(), ident)))
    }

    fn create(&self, ident: &TableIdent, commit: MetadataCommit, location: Option<&str>) -> Result<OpenedTable> {
        let table = self.session.server()?.create_table(ident, &commit, location)?;
        RestPointer::opened(&self.session, ident, &table)
    }

    fn stage(&self, ident: &TableIdent, commit: MetadataCommit, location: Option<&str>) -> Result<OpenedTable> {
        let server = self.session.server()?;
        server.check(Endpoint::CommitTable).with("table", ident)?;
        let table = server.stage_table(ident, &commit, location)?;
        RestPointer::opened(&self.session, ident, &table)
    }

    fn register(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<OpenedTable> {
        let table = self.session.server()?.register_table(ident, metadata_location, overwrite)?;
        RestPointer::opened(&self.session, ident, &table)
    }

    fn unregister(&self, ident: &TableIdent) -> Result<String> {
        self.session.server()?.unregister_table(ident)
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.session.server()?.rename_table(from, to)
    }

    fn remove(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        if purge.is_some_and(|outside| outside.iter().next().is_some()) {
            return Err(Error::unsupported("the catalog's server deletes the files of a table, and decides which")
                .with("table", ident)
                .hint("Leave out outside_locations="));
        }
        self.session.server()?.drop_table(ident, purge.is_some())
    }

    fn joint_commits(&self) -> Option<&dyn JointPublisher> {
        Some(self)
    }

    fn views(&self) -> Option<&dyn ViewCatalog> {
        Some(self)
    }
}

impl ViewCatalog for RestCatalog {
    fn list(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let mut out = self.session.server()?.views(namespace)?;
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    fn load_view(&self, ident: &TableIdent) -> Result<ViewInfo> {
        self.session.server()?.load_view(ident)
    }

    fn has_view(&self, ident: &TableIdent) -> Result<bool> {
        self.session.server()?.has_view(ident)
    }

    fn create_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        self.session.server()?.create_view(ident, new)
    }

    fn replace_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo> {
        self.session.server()?.replace_view(ident, new)
    }

    fn register_view(&self, ident: &TableIdent, metadata_location: &str) -> Result<ViewInfo> {
        self.session.server()?.register_view(ident, metadata_location)
    }

    fn rename_view(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.session.server()?.rename_view(from, to)
    }

    fn drop_view(&self, ident: &TableIdent) -> Result<()> {
        self.session.server()?.drop_view(ident)
    }
}
