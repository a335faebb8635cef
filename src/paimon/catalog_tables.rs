//! Tables of Paimon in a file-system catalog: in folders `<warehouse>/<database>.db/<table>`, as in Java's catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::NewTable;
use crate::format::commit::now_ms;
use crate::format::ident::TableIdent;
use crate::paimon::catalog::new_schema::first_schema;
use crate::paimon::catalog::warehouse::Warehouse;
use crate::paimon::evolve::option_checks::check_new;
use crate::paimon::spec::from_types::data_field;
use crate::paimon::spec::schema::SchemaParts;
use crate::paimon::state::PaimonTable;
use crate::store::Store;
use crate::types::Schema;

/// The tables of Paimon in a warehouse.
#[derive(Clone, Debug)]
pub(crate) struct PaimonCatalog {
    warehouse: Warehouse,
    store: Arc<dyn Store>,
    storage_options: BTreeMap<String, String>,
}

impl PaimonCatalog {
    /// Those in the folder `root`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty folder.
    pub fn new(store: Arc<dyn Store>, root: &str, storage_options: BTreeMap<String, String>) -> Result<PaimonCatalog> {
        Ok(PaimonCatalog { warehouse: Warehouse::new(store.clone(), root)?, store, storage_options })
    }

    /// Names of databases that have a folder.
    ///
    /// # Errors
    /// Those of the store.
    pub fn databases(&self) -> Result<Vec<String>> {
        self.warehouse.databases()
    }

    /// Tables in a database; none if it has no folder.
    ///
    /// # Errors
    /// Those of the store.
    pub fn tables(&self, namespace: &[String]) -> Result<Vec<String>> {
        match namespace {
            [database] => match self.warehouse.tables(database) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
                tables => tables,
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; as [`PaimonTable::find`].
    pub fn load(&self, ident: &TableIdent) -> Result<PaimonTable> {
        let none = || Error::not_found(format!("there is no table {ident}"));
        let [database] = &ident.namespace[..] else { return Err(none()) };
        let root = self.warehouse.table_location(database, &ident.name)?;
        PaimonTable::find(&self.store, &root, &self.storage_options)?.ok_or_else(none)
    }

    /// Creates a table, and the folder of its database if it does not exist.
    ///
    /// # Errors
    /// `InvalidInput` for a schema or partitions that Paimon does not have; `AlreadyExists`; those of the store.
    pub fn create(&self, ident: &TableIdent, schema: &Schema, request: &NewTable) -> Result<PaimonTable> {
        let [database] = &ident.namespace[..] else {
            return Err(Error::invalid("Paimon's databases don't nest").with("table", ident.to_string()));
        };
        if request.location.is_some() {
            return Err(Error::invalid("a file-system catalog chooses the location of Paimon tables itself")
                .hint("Leave out the location"));
        }
        if !request.sort_by.is_empty() {
            return Err(
                Error::unsupported("tables of Paimon have no sort order besides their key").hint("Leave out sort_by")
            );
        }
        let primary_keys = match &request.identifier_fields {
            Some(names) => names.clone(),
            None => schema.identifier_field_ids.iter().filter_map(|id| schema.name_of(*id)).collect(),
        };
        let fields = schema.fields.iter().map(|f| data_field(f).with("column", &f.name)).collect::<Result<_>>()?;
        let parts = SchemaParts {
            fields,
            partition_keys: request.partition_by.clone(),
            primary_keys,
            options: request.properties.clone(),
            ..SchemaParts::default()
        };
        check_new(&first_schema(parts.clone(), now_ms())?)?;
        match self.warehouse.create_database(database) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        self.warehouse.create_table(database, &ident.name, parts)?;
        self.load(ident)
    }

    /// Removes a table with all its files.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; as [`Warehouse::drop_table`].
    pub fn drop(&self, ident: &TableIdent) -> Result<()> {
        self.load(ident)?;
        let [database] = &ident.namespace[..] else { return Ok(()) };
        self.warehouse.drop_table(database, &ident.name)
    }

    /// Gives a table another name.
    ///
    /// # Errors
    /// As [`Warehouse::rename_table`].
    pub fn rename(&self, ident: &TableIdent, to: &TableIdent) -> Result<()> {
        self.load(ident)?;
        match (&ident.namespace[..], &to.namespace[..]) {
            ([from], [other]) => self.warehouse.rename_table((from, &ident.name), (other, &to.name)),
            _ => Err(Error::invalid("Paimon's databases don't nest").with("table", to.to_string())),
        }
    }

    /// Removes the folder of a database, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` if a table is in it.
    pub fn drop_database(&self, namespace: &[String]) -> Result<()> {
        let [database] = namespace else { return Ok(()) };
        match self.warehouse.drop_database(database) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}
