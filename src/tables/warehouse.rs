//! A warehouse that tables of both formats share, in neighbouring folders.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::deletion::OutsideLocations;
use crate::format::ident::{TableIdent, parse_namespace};
use crate::format::table_format::TableFormat;
use crate::iceberg::catalog_tables::IcebergCatalog;
use crate::paimon::catalog_tables::PaimonCatalog;
use crate::paimon::state::PAIMON;
use crate::rows::seam::{Catalog, Creations, NamespaceProperties, Registration, Renames, Table, Transaction};
use crate::types::Schema;

/// A file-system catalog. Its namespaces are Iceberg's folders and Paimon's databases, in folders `<database>.db`. A
/// name belongs to a table of one format.
#[derive(Clone, Debug)]
pub(super) struct SharedWarehouse {
    pub(super) iceberg: IcebergCatalog,
    pub(super) paimon: PaimonCatalog,
}

impl SharedWarehouse {
    /// Names of Paimon's databases that have a folder.
    fn databases(&self) -> Result<Vec<Vec<String>>> {
        self.paimon.list_namespaces(&[])
    }

    /// Refuses to replace a table by one of another format.
    fn check_format(&self, ident: &TableIdent, format: &TableFormat) -> Result<()> {
        match self.load_table(ident).if_found()? {
            Some(known) if known.format().id != format.id => {
                let (old, new) = (known.format().name, format.name);
                Err(Error::unsupported(format!("a table of {old} can't be replaced by one of {new}"))
                    .with("table", ident)
                    .hint("Drop the table and create it again"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a name that another table of the catalog has.
    fn check_free(catalog: &dyn Catalog, ident: &TableIdent) -> Result<()> {
        match catalog.load_table(ident) {
            Ok(table) => Err(Error::already_exists(format!("there is a table {ident}, of {}", table.format().name))),
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            Err(_) => Ok(()),
        }
    }
}

/// The answer of the first catalog, or of the second if the first lacks the table. If both lack it, the first one's
/// error.
fn first_found<T>(first: Result<T>, second: impl FnOnce() -> Result<T>) -> Result<T> {
    match first {
        Err(e) if e.kind() == ErrorKind::NotFound => match second() {
            Err(other) if other.kind() == ErrorKind::NotFound => Err(e),
            found => found,
        },
        found => found,
    }
}

impl Catalog for SharedWarehouse {
    fn name(&self) -> &str {
        self.iceberg.name()
    }

    fn properties(&self) -> &BTreeMap<String, String> {
        self.iceberg.properties()
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        match self.iceberg.check_namespace(namespace) {
            Err(e) if e.kind() == ErrorKind::NotFound && self.databases()?.iter().any(|d| d == namespace) => Ok(()),
            checked => checked,
        }
    }

    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        let mut out = self.iceberg.list_namespaces(parent)?;
        if parent.is_empty() {
            // The folder of a database of Paimon has another name than the database.
            let databases = self.databases()?;
            let is_database = |stem: &str| databases.iter().any(|d| d[..] == [stem]);
            out.retain(|levels| !matches!(&levels[..], [name] if name.strip_suffix(".db").is_some_and(is_database)));
            out.extend(databases);
            out.sort_unstable();
            out.dedup();
        }
        // Folders such as `.git` are no namespaces: no name leads to them.
        out.retain(|levels| parse_namespace(&levels.join(".")).is_ok_and(|named| named == *levels));
        Ok(out)
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.iceberg.create_namespace(namespace, properties)
    }

    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        let is_database = self.databases()?.iter().any(|levels| levels == namespace);
        if is_database {
            self.paimon.drop_namespace(namespace)?;
        }
        match self.iceberg.drop_namespace(namespace) {
            Err(e) if is_database && e.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let paimon = match self.paimon.list_tables(namespace) {
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            tables => Some(tables?),
        };
        let mut out = match self.iceberg.list_tables(namespace) {
            // A database of Paimon is a namespace, even without tables.
            Err(e) if e.kind() == ErrorKind::NotFound && paimon.is_some() => Vec::new(),
            tables => tables?,
        };
        out.extend(paimon.into_iter().flatten());
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    fn load_table(&self, ident: &TableIdent) -> Result<Arc<dyn Table>> {
        first_found(self.iceberg.load_table(ident), || self.paimon.load_table(ident))
    }

    fn create_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Arc<dyn Table>> {
        if format.id != PAIMON.id {
            SharedWarehouse::check_free(&self.paimon, ident)?;
            return self.iceberg.create_table(ident, schema, request, format);
        }
        SharedWarehouse::check_free(&self.iceberg, ident)?;
        if !self.databases()?.contains(&ident.namespace) {
            self.iceberg.check_namespace(&ident.namespace)?;
        }
        self.paimon.create_table(ident, schema, request, format)
    }

    fn drop_table(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        first_found(self.iceberg.drop_table(ident, purge), || self.paimon.drop_table(ident, purge))
    }

    fn namespace_properties(&self) -> Option<&dyn NamespaceProperties> {
        self.iceberg.namespace_properties()
    }

    fn registration(&self) -> Option<&dyn Registration> {
        Some(self)
    }

    fn renames(&self) -> Option<&dyn Renames> {
        Some(self)
    }

    fn creations(&self) -> Option<&dyn Creations> {
        Some(self)
    }
}

impl Registration for SharedWarehouse {
    fn register_table(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<Arc<dyn Table>> {
        SharedWarehouse::check_free(&self.paimon, ident)?;
        self.iceberg.register_table(ident, metadata_location, overwrite)
    }

    /// The table of either format is looked for first, so that a missing one is said to be missing.
    fn unregister_table(&self, ident: &TableIdent) -> Result<String> {
        self.load_table(ident)?;
        self.iceberg.unregister_table(ident)
    }
}

impl Creations for SharedWarehouse {
    fn begin_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
    ) -> Result<Box<dyn Transaction>> {
        if format.id == PAIMON.id {
            return Err(format
                .lacks("create_table_transaction")
                .with("table", ident)
                .hint("Create the table with create_table(), then append rows"));
        }
        SharedWarehouse::check_free(&self.paimon, ident)?;
        self.iceberg.begin_table(ident, schema, request, format)
    }

    fn replace_table(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Arc<dyn Table>> {
        self.check_format(ident, format)?;
        if format.id != PAIMON.id {
            return self.iceberg.replace_table(ident, schema, request, format, or_create);
        }
        match self.paimon.replace(ident, schema, &request) {
            Err(e) if or_create && e.kind() == ErrorKind::NotFound => self.create_table(ident, schema, request, format),
            replaced => Ok(Arc::new(replaced?)),
        }
    }

    fn begin_replacement(
        &self,
        ident: &TableIdent,
        schema: &Schema,
        request: NewTable,
        format: &TableFormat,
        or_create: bool,
    ) -> Result<Box<dyn Transaction>> {
        self.check_format(ident, format)?;
        if format.id == PAIMON.id {
            return Err(format
                .lacks("replace_table_transaction")
                .with("table", ident)
                .hint("Replace the table with replace_table(), then append rows"));
        }
        self.iceberg.begin_replacement(ident, schema, request, format, or_create)
    }
}

impl Renames for SharedWarehouse {
    /// Only tables of Paimon can have another name.
    fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        match self.load_table(from) {
            Ok(table) if table.format().id == PAIMON.id => {
                SharedWarehouse::check_free(&self.iceberg, to)?;
                self.paimon.rename_table(from, to)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Err(e),
            _ => self.iceberg.rename_table(from, to),
        }
    }
}
